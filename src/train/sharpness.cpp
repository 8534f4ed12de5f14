#include "train/sharpness.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "backend/device_array.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "train/evaluator.hpp"
#include "train/learners/minibatch.hpp"

namespace paragrad::train {
namespace {

/// The loss of a network as a function of its parameters.
class Loss {
 public:
  Loss(comm::Worker& worker, const WorkerInput& input, data::Subset subset, std::size_t samples, Learner& network)
      : worker_(worker),
        input_(input),
        subset_(subset),
        samples_(std::min(samples, input.source.samples(subset))),
        network_(network),
        stage_(network.stages(std::numeric_limits<std::size_t>::max()).front()),
        evaluator_(worker, network, nullptr, input, [&worker](std::span<double> sums) {
          comm::sum_in_rank_order(worker.comm(), sums);
          return true;
        }) {}

  double at(std::span<const float> parameters) {
    network_.restore(parameters);
    return evaluator_.score(subset_, samples_).loss;
  }

  /// Its sum over the samples.
  std::vector<double> gradient_at(std::span<const float> parameters) {
    network_.restore(parameters);
    const SubsetPart part = open_part(worker_, input_, subset_, samples_, network_.largest_batch());
    backend::DeviceArray<backend::LossSum> loss(worker_.device(), 1);
    const std::span<const float> gradient = network_.optimiser().gradients();
    std::vector<float> mine(gradient.size());
    compute(worker_, network_, {}, [&] {
      Minibatch(network_, worker_.device(), *part.stream, part.samples).gradient(stage_, optim::Step{}, loss.data());
      worker_.device().transfer(gradient, std::span(mine));
    });
    std::vector<double> sum(mine.begin(), mine.end());
    comm::sum_in_rank_order(worker_.comm(), sum);
    return sum;
  }

 private:
  comm::Worker& worker_;
  const WorkerInput& input_;
  data::Subset subset_;
  std::size_t samples_;
  Learner& network_;
  Learner::Stage stage_;  // the whole pass
  Evaluator evaluator_;
};

/// The corner of the box around `centre` at which the linearised loss is highest.
std::vector<float> highest_corner(std::span<const float> centre, double epsilon, std::span<const double> gradient) {
  std::vector<float> corner(centre.size());
  for (std::size_t i = 0; i < centre.size(); ++i) {
    const double half = epsilon * (std::abs(static_cast<double>(centre[i])) + 1);
    const double to = gradient[i] > 0 ? half : gradient[i] < 0 ? -half : 0;
    corner[i] = static_cast<float>(static_cast<double>(centre[i]) + to);
  }
  return corner;
}

std::vector<float> between(std::span<const float> from, std::span<const float> to, double share) {
  std::vector<float> point(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    point[i] = static_cast<float>(static_cast<double>(from[i]) +
                                  share * (static_cast<double>(to[i]) - static_cast<double>(from[i])));
  return point;
}

}  // namespace

Sharpness sharpness(comm::Worker& worker, const TrainingOptions& options, std::span<const float> parameters,
                    const WorkerInput& input, data::Subset subset, const SharpnessOptions& how) {
  const auto network = trained_network(worker, options, parameters, input.source, true);
  if (!network->buffers().empty())
    throw core::ConfigError(
        "sharpness is not defined for a model with batch normalisation, whose training loss differs from its evaluation "
        "loss; give a checkpoint of a model without it");
  if (std::min(how.samples, input.source.samples(subset)) == 0)
    throw core::ConfigError("the subset has no samples, so its loss has no sharpness; choose another subset");
  Loss loss(worker, input, subset, how.samples, *network);
  Sharpness found{.loss = loss.at(parameters)};
  if (!std::isfinite(found.loss))
    throw core::ConfigError("the loss of the checkpoint is not finite, so it has no sharpness");
  found.highest_loss = found.loss;
  std::vector<float> highest(parameters.begin(), parameters.end());
  for (int step = 0; step < how.steps; ++step) {
    const std::vector<float> corner = highest_corner(parameters, how.epsilon, loss.gradient_at(highest));
    const double before = found.highest_loss;
    for (double share = 1; share >= 0.125 && found.highest_loss == before; share /= 2) {
      std::vector<float> there = between(highest, corner, share);
      const double there_loss = loss.at(there);
      if (!std::isfinite(there_loss) || there_loss <= before) continue;
      found.highest_loss = there_loss;
      highest = std::move(there);
    }
    if (found.highest_loss == before) break;
  }
  return found;
}

}  // namespace paragrad::train
