#pragma once

#include <limits>

#include "comm/worker.hpp"
#include "train/learner_cost.hpp"
#include "train/trainer.hpp"

namespace paragrad::train {

/// Scores a learner's parameters on a subset; each worker takes a contiguous part, sums are added in rank order.
class Evaluator {
 public:
  /// cost: null where the worker does not compute.
  Evaluator(comm::Worker& worker, const Options& options, Learner& learner, LearnerCost* cost, const Source& source)
      : worker_(worker), options_(options), learner_(learner), cost_(cost), source_(source) {}

  /// Of the first samples, at_most so many. The same on every worker.
  Score score(data::Subset subset, std::size_t at_most = std::numeric_limits<std::size_t>::max());

 private:
  comm::Worker& worker_;
  const Options& options_;
  Learner& learner_;
  LearnerCost* cost_;
  const Source& source_;
};

}  // namespace paragrad::train
