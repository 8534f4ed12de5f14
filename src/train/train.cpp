#include "train/train.hpp"

#include <memory>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/learners/network_learner.hpp"
#include "train/learners/synchronised_learner.hpp"
#include "train/learners/tensor_parallel_learner.hpp"
#include "train/plan.hpp"
#include "train/pretraining.hpp"
#include "train/state/state_store.hpp"
#include "train/trainer.hpp"

namespace paragrad::train {

std::optional<int> saved_phase(const std::string& state_folder, const TrainingOptions& options, const RunIdentity& run,
                               bool rescales) {
  const auto phase = StateStore::saved_phase(state_folder);
  if (!phase) return std::nullopt;
  RunIdentity saved = StateStore::saved_run(state_folder);
  if (rescales) {
    saved.options_sha256 = run.options_sha256;
    saved.partition_sha256 = run.partition_sha256;
  }
  check_same_run(saved, run, options.data);
  if (static_cast<std::size_t>(*phase) >= phases(options).size())
    throw core::ConfigError(
        core::format("cannot resume: '{}' was saved in a training phase that this run does not have", state_folder));
  return phase;
}

int saved_workers(const std::string& state_folder) { return StateStore::saved_workers(state_folder); }

void require_rescalable(const TrainingOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw core::ConfigError(core::format("`rescale` has no rule for {}: resume with the number of workers of before", what));
  };
  if (strategies::strategy_entry(options.strategy).has_servers)
    refuse(core::format("the strategy '{}', whose servers know each worker", options.strategy));
  if (options.tensor_parallel > 1) refuse("`tensor-parallel`, whose workers hold parts of the network");
  if (options.balance) refuse("`balance`, which measures each worker's speed");
}

void remove_state(const std::string& state_folder) { StateStore::remove(state_folder); }

namespace {

// Each emulated worker has a stack of its own, whose deepest call decides how much memory it takes. So what only some
// trainings need is kept in functions of its own, out of the frames of the others.
[[gnu::noinline]] Result train_parts(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input,
                                     const Output& output, std::span<const float> initial) {
  const TrainingData& source = input.source;
  const int holders = options.tensor_parallel;
  comm::GroupWorker peers(worker, worker.rank() / holders * holders, 1, holders);
  comm::GroupWorker others(worker, worker.rank() % holders, holders, replicas(options, worker.size()));
  Trainer trainer(others, worker, options, input,
                  tensor_parallel_learners(peers, source.network, options, source.most_rows_per_sample()), output, initial);
  const comm::TaskGuard guard(worker);
  return trainer.run();
}

Result train_network(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const Output& output,
                     std::span<const float> initial) {
  const TrainingData& source = input.source;
  if (options.tensor_parallel > 1) return train_parts(worker, options, input, output, initial);
  if (options.sync_batch_norm && worker.size() > 1)
    return train(worker, options, input, synchronised_learners(worker, *source.network, options), output, initial);
  return train(worker, options, input, network_learners(source.network, options, source.most_rows_per_sample()), output,
               initial);
}

[[gnu::noinline]] Result train_pretrained(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input,
                                          const Output& output) {
  Result before;
  const std::vector<float> initial = pretrain(worker, options, input, output, before);
  Output of_network = output;
  of_network.phase = static_cast<int>(phases(options).size()) - 1;
  if (output.resume_phase != of_network.phase) of_network.resume_phase.reset();
  of_network.earlier_s = before.pretraining_s;
  of_network.earlier_samples = before.pretraining_samples;
  return train_network(worker, options, input, of_network, initial);
}

}  // namespace

Result train(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const Output& output) {
  return options.pretraining.epochs == 0 ? train_network(worker, options, input, output, {})
                                         : train_pretrained(worker, options, input, output);
}

Result train(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const MakeLearner& make_learner,
             const Output& output, std::span<const float> initial) {
  const auto trainer =
      std::make_unique<Trainer>(worker, worker, options, input, make_learner, output, initial);  // large, for a stack
  const comm::TaskGuard guard(worker);
  return trainer->run();
}

void serve(comm::Worker& all_ranks, int workers, const TrainingOptions& options, const Output& output) {
  const std::vector<TrainingOptions> all = phases(options);
  for (auto phase = static_cast<std::size_t>(output.resume_phase.value_or(0)); phase < all.size(); ++phase) {
    serve_with(all[phase], all_ranks, workers);
    if (phase + 1 < all.size()) comm::barrier(all_ranks.comm());
  }
}

}  // namespace paragrad::train
