#include "predict/timing_run.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "runs/server_arguments.hpp"
#include "sim/simulation.hpp"
#include "train/input/training_data.hpp"
#include "train/memory_need.hpp"
#include "worlds/device_rate.hpp"

namespace paragrad::predict {
namespace {

/// The platform with the nodes that `ranks` need.
sim::Platform wide_enough(sim::Platform platform, int ranks, bool oversubscribe) {
  const int nodes = (ranks + platform.devices_per_node - 1) / platform.devices_per_node;
  if (nodes <= platform.nodes || oversubscribe) return platform;
  if (platform.leaf.bytes_per_s == 0)
    throw core::ConfigError(
        core::format("{} ranks need {} nodes, and the platform '{}' has no section [leaf]", ranks, nodes, platform.name));
  platform.nodes = nodes;
  return platform;
}

}  // namespace

struct TimingRun::State {
  SimulationArguments arguments;
  int workers = 1;
  std::string collective;
  train::TrainingData source;
  train::TrainingOptions options;
};

TimingRun::TimingRun(std::vector<std::string> options) {
  SimulationArguments arguments;
  train::TrainingOptions& by_default = arguments.training.options;
  by_default.strategy = "data_parallel";
  by_default.epochs = 1, by_default.blocks = 1;
  arguments.read_to_time(std::move(options));
  const runs::TrainingArguments& training = arguments.training;
  if (training.options.minibatch == 0) throw core::ConfigError("give the size of the minibatch");
  const bool is_sized = !training.options.data.empty() || arguments.imaginary_samples[0] > 0;
  if (!is_sized && !train::shares_minibatches(training.options))
    throw core::ConfigError(core::format(
        "the strategy {} synchronises once per block, which is a part of the training samples: give their number, too",
        training.options.strategy));
  if (!is_sized) arguments.imaginary_samples[0] = steps_timed * training.options.minibatch;
  *this = TimingRun(arguments);
}

TimingRun TimingRun::brief(SimulationArguments arguments) {
  train::TrainingOptions& options = arguments.training.options;
  options.epochs = 1;
  options.max_blocks = 1;
  if (train::shares_minibatches(options) && options.max_steps == 0) options.max_steps = steps_timed;
  return TimingRun(arguments);
}

TimingRun::TimingRun(const SimulationArguments& arguments) {
  const auto state = std::make_shared<State>();
  state->arguments = arguments;
  state->workers = arguments.world.workers;
  runs::TrainingArguments& training = state->arguments.training;
  training.out = training.replay = "", training.record = "none";
  state->source = train::imagine_training_data(training.options, state->workers, arguments.imaginary_samples);
  state->options = runs::with_servers(training, state->source, state->workers);
  const auto& settings = training.options.strategy_settings;
  if (const auto chosen = settings.find("collective"); chosen != settings.end()) state->collective = chosen->second.text();
  state_ = state;
}

int TimingRun::workers() const { return state_->workers; }
bool TimingRun::shares_minibatches() const { return train::shares_minibatches(state_->options); }
const std::string& TimingRun::data_sha256() const { return state_->source.info.content_sha256; }
const std::string& TimingRun::model() const { return state_->options.model; }
const std::string& TimingRun::collective() const { return state_->collective; }
std::size_t TimingRun::gradient_bytes() const { return state_->source.network->parameter_count() * sizeof(float); }

std::size_t TimingRun::samples_per_step() const {
  const train::TrainingOptions& options = state_->options;
  return options.minibatch * (train::shares_minibatches(options) ? 1 : static_cast<std::size_t>(state_->workers));
}

double TimingRun::device_bytes() const {
  const nn::Graph& graph = *state_->source.network;
  const double rows = static_cast<double>(2 * graph.inputs() + graph.plan().floats_per_row) *
                      static_cast<double>(state_->source.most_rows_per_sample());
  const train::TrainingOptions& options = state_->options;
  const std::size_t sharing = train::shares_minibatches(options) ? static_cast<std::size_t>(state_->workers) : 1;
  const std::size_t part = (options.minibatch + sharing - 1) / sharing;
  const std::size_t at_once = options.micro_batch > 0 ? std::min(part, options.micro_batch) : part;
  return train::least_memory_bytes(options, graph, 1) + sizeof(float) * rows * static_cast<double>(at_once);
}

int TimingRun::nodes(const sim::Platform& platform) const {
  const SimulationArguments& arguments = state_->arguments;
  const sim::Platform known = worlds::with_options(platform, arguments.world);
  const int ranks = state_->workers + runs::servers_of(state_->options);
  const int needed = (ranks + known.devices_per_node - 1) / known.devices_per_node;
  return arguments.world.oversubscribe ? std::min(needed, known.nodes) : needed;
}

double TimingRun::roofline_rate(const sim::Platform& platform) const {
  return worlds::device_rate(1, platform, state_->options, state_->workers).roofline_samples_per_s;
}

train::Result TimingRun::train(const sim::Platform& given, double rate, double compute_scale,
                               const train::Output& output) const {
  const SimulationArguments& arguments = state_->arguments;
  const int workers = state_->workers;
  const int ranks = workers + runs::servers_of(state_->options);
  const sim::Platform platform =
      wide_enough(worlds::with_options(given, arguments.world), ranks, arguments.world.oversubscribe);
  const sim::SimulationOptions simulation{
      .device = "meta",
      .network = arguments.world.network,
      .io = arguments.world.io,
      .row_bytes = arguments.world.sample_bytes > 0 ? arguments.world.sample_bytes : state_->source.info.bytes_to_read(),
      .oversubscribe = arguments.world.oversubscribe,
      .compute_scale = compute_scale * worlds::device_rate(rate > 0 ? rate : arguments.world.device_rate.samples_per_s,
                                                           platform, state_->options, workers)
                                           .compute_scale,
      .workers_per_node = arguments.training.workers_per_node,
      .shortcuts = arguments.world.fast_collectives == "auto"};
  train::Result result;
  sim::run(platform, ranks, simulation, [&](sim::EmulatedWorker& worker) {
    const train::WorkerInput input{state_->source,
                                   [&](auto samples) { return worker.read_from_storage(std::move(samples)); }};
    runs::run_role(worker, workers, state_->options, output, [&](comm::Worker& member) {
      const std::unique_ptr<train::Result> mine(new train::Result(train::train(member, state_->options, input, output)));
      if (member.rank() == 0) result = std::move(*mine);
    });
  });
  return result;
}

TimingRun::Times TimingRun::time(const sim::Platform& platform, double rate, double compute_scale) const {
  const train::Result result = train(platform, rate, compute_scale, {.explains = false});
  return {static_cast<double>(result.samples) / result.training_s, result.times.exposed()};
}

bool TimingRun::has_given_rate() const { return state_->arguments.world.device_rate.samples_per_s > 0; }

double TimingRun::known_rate(const sim::Platform& platform) const {
  const double given = state_->arguments.world.device_rate.samples_per_s;
  return given > 0 ? given : worlds::rate_of_model(platform, state_->options);
}

sim::fitting::Row TimingRun::row(const sim::Platform& platform, int rate) const {
  using sim::fitting::Reach;
  sim::fitting::Row row{
      .name = core::format("{} on {}", model(), workers()), .trains = true, .rate = rate, .by_nccl = collective() == "nccl"};
  row.reach = workers() == 1 ? Reach::device : nodes(platform) == 1 ? Reach::node : Reach::network;
  row.time = [run = *this](const sim::Platform& where, double samples_per_s) {
    const Times times = run.time(where, samples_per_s);
    return sim::fitting::Timed{1 / times.samples_per_s, times.exchange};
  };
  return row;
}

}  // namespace paragrad::predict
