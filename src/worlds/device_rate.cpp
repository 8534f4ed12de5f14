#include "worlds/device_rate.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "sim/compute/measured_times.hpp"
#include "sim/simulation.hpp"
#include "train/learners/learner_cost.hpp"
#include "train/learners/network_learner.hpp"

namespace paragrad::worlds {
namespace {

std::size_t samples_of_worker(const train::TrainingOptions& options, int workers) {
  const auto sharing = train::shares_minibatches(options) ? static_cast<std::size_t>(workers) : 1;
  return (options.minibatch + sharing - 1) / sharing;
}

}  // namespace

int number_of_rate(const sim::Platform& platform, const std::string& model) {
  int found = -1;
  for (std::size_t i = 0; i < platform.rates.size(); ++i) {
    if (platform.rates[i].model != model) continue;
    if (found >= 0)
      throw core::ConfigError(
          core::format("the platform '{}' has several rates of {}: choose one with --device-rate", platform.name, model));
    found = static_cast<int>(i);
  }
  return found;
}

double rate_of_model(const sim::Platform& platform, const train::TrainingOptions& options) {
  if (platform.rates.empty() || options.minibatch == 0 || options.tensor_parallel > 1) return 0;
  const int number = number_of_rate(platform, options.model);
  return number < 0 ? 0 : platform.rates[static_cast<std::size_t>(number)].samples_per_s;
}

DeviceRate device_rate(double samples_per_s, const sim::Platform& platform, const train::TrainingOptions& options,
                       int workers) {
  if (samples_per_s == 0) return {};
  if (options.minibatch == 0)
    throw core::ConfigError("--device-rate needs --minibatch, on which the rate of a device depends");
  if (options.tensor_parallel > 1)
    throw core::ConfigError(
        "--device-rate assumes that each device trains a whole replica: leave it out with --tensor-parallel");
  const std::size_t samples = samples_of_worker(options, workers);
  const auto device = backend::make_device("meta");
  device->charge_by(sim::measured_times(platform.device));
  const auto network = std::make_shared<const nn::Graph>(nn::make_graph(options.model));
  if (network->reads_sequences() && !network->tokens())
    throw core::ConfigError("--device-rate assumes independent samples: leave it out with recurrent models");
  const auto rows = static_cast<std::uint32_t>(network->rows_per_sample());
  const auto learner = train::network_learners(network, options, rows)(*device, samples, false);
  std::optional<data::Sequence> window;
  if (network->tokens()) window = data::Sequence{0, rows, 0, rows};
  train::LearnerCost cost(*learner, device->call_times(), window);
  const double roofline_s = sim::compute_time_s(platform, cost.descend(samples));
  const auto count = static_cast<double>(samples);
  return {samples_per_s, count / roofline_s, count / samples_per_s / roofline_s};
}

}  // namespace paragrad::worlds
