#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "comm/worker.hpp"
#include "train/input/worker_input.hpp"
#include "train/learners/learner.hpp"
#include "train/learners/learner_cost.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Sums values over the workers; for the meaning of false see strategies::Strategy::add_up.
using AddUp = std::function<bool(std::span<double>)>;

/// A worker's contiguous part of the first samples of a subset.
struct SubsetPart {
  std::size_t samples;
  std::unique_ptr<data::SampleStream> stream;
};

/// samples: of all workers. largest: the maximum that the stream will be asked for at once.
SubsetPart open_part(comm::Worker& worker, const WorkerInput& input, data::Subset subset, std::size_t samples,
                     std::size_t largest);

/// A replica of a trained network, to be scored. bare_gradient: see optim::make_optimiser. options must outlive it.
/// Throws ConfigError if the parameters are not as many as the model's.
std::unique_ptr<Learner> trained_network(comm::Worker& worker, const TrainingOptions& options,
                                         std::span<const float> parameters, const TrainingData& source, bool bare_gradient);

/// Scores a learner's parameters on a subset. Each worker scores its part; sums are added in rank order.
class Evaluator {
 public:
  /// cost: null if the worker does not compute.
  Evaluator(comm::Worker& worker, Learner& learner, LearnerCost* cost, const WorkerInput& input, AddUp add_up)
      : worker_(worker), learner_(learner), cost_(cost), input_(input), add_up_(std::move(add_up)) {}

  /// Scores the first samples of the subset, `at_most` of them. The same on every worker.
  Score score(data::Subset subset, std::size_t at_most = std::numeric_limits<std::size_t>::max());

 private:
  backend::LossSum part_of(data::Subset subset, std::size_t samples);

  comm::Worker& worker_;
  Learner& learner_;
  LearnerCost* cost_;
  const WorkerInput& input_;
  AddUp add_up_;
};

}  // namespace paragrad::train
