#include "train/pretraining.hpp"

#include <algorithm>
#include <array>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "rbm/deep_belief_net.hpp"
#include "train/learners/rbm_learner.hpp"

namespace paragrad::train {
namespace {

TrainingOptions phase_of(const TrainingOptions& options, std::size_t machine) {
  const PretrainingOptions& pretraining = options.pretraining;
  TrainingOptions phase = options;
  phase.epochs = pretraining.epochs;
  phase.schedule = {};
  phase.schedule.initial_rate = pretraining.rates[pretraining.rates.size() == 1 ? 0 : machine];
  phase.rate_per = "minibatch";
  phase.momentum = pretraining.momentum;
  phase.momentum_time_constant = 0;
  phase.unit_gain = false;
  phase.l2 = pretraining.l2;
  phase.optimiser = optim::without_limits(phase.optimiser);
  phase.minibatch = pretraining.minibatch;
  phase.minibatch_search = {};
  phase.ema_decay = 0;
  phase.loop_settings.clear();
  phase.parallel_start_epoch = 1;
  phase.servers.record.clear();  // the order is recorded for the network's training only
  return phase;
}

std::string describe(const Machine& machine, const PretrainingOptions& options) {
  const rbm::RbmOptions& how = options.machine;
  return core::format("layer {} of {}, {}-{}, is pretrained with {}-{}", machine.index + 1, machine.count,
                      machine.shape.visible, machine.shape.hidden, how.persistent ? "PCD" : "CD", how.cd_steps);
}

/// before: result of the machines trained so far. below: their parameters.
Result train_machine(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const Output& of_run,
                     std::size_t index, std::span<const rbm::Shape> machines, std::vector<float> below,
                     const Result& before) {
  const auto machine = std::make_shared<const Machine>(
      Machine{input.source.network, index, machines.size(), machines[index], machines[index].layout(), std::move(below)});
  const TrainingOptions phase = phase_of(options, index);
  Output output = of_run;
  output.phase = static_cast<int>(index);
  output.last_phase = false;
  if (output.resume_phase != output.phase) output.resume_phase.reset();
  output.earlier_s = before.pretraining_s;
  output.earlier_samples = before.pretraining_samples;
  if (worker.rank() == 0 && output.progress != nullptr) output.progress->say(describe(*machine, options.pretraining));
  Result result = train(worker, phase, input, rbm_learners(machine, phase, worker.rank()), output);
  // Servers of this training must not receive requests of the next.
  if (has_servers(phase)) comm::barrier(worker.all_ranks().comm());
  return result;
}

}  // namespace

std::vector<TrainingOptions> phases(const TrainingOptions& options) {
  std::vector<TrainingOptions> result;
  if (options.pretraining.epochs > 0) {
    const std::size_t machines = rbm::machines_of(nn::make_graph(options.model), options.model).size();
    for (std::size_t machine = 0; machine < machines; ++machine) result.push_back(phase_of(options, machine));
  }
  result.push_back(options);
  return result;
}

std::vector<float> pretrain(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input,
                            const Output& output, Result& result) {
  const nn::Graph& graph = *input.source.network;
  const std::vector<rbm::Shape> machines = rbm::machines_of(graph, options.model);
  const auto first = static_cast<std::size_t>(output.resume_phase.value_or(0));
  std::vector<float> below;
  for (std::size_t index = first; index < machines.size(); ++index) {
    Result one = train_machine(worker, options, input, output, index, machines, std::move(below), result);
    below = std::move(one.model);
    result.pretraining_s = one.pretraining_s + one.training_s;
    result.pretraining_samples = one.pretraining_samples + one.samples;
  }
  if (!worker.device().computes() || first == machines.size()) return {};
  std::vector<float> network(graph.model_size());
  graph.initialise(options.seed, network);
  std::ranges::copy(below, network.begin());
  return network;
}

}  // namespace paragrad::train
