#pragma once

#include <span>
#include <vector>

#include "data/dataset.hpp"
#include "train/learners/learner.hpp"

namespace paragrad::train {

/// Several networks as one classifier: the mean of their posteriors (Hansen and Salamon, IEEE PAMI 12(10), 1990). Its
/// cross-entropy is at most the mean of theirs.
class Ensemble {
 public:
  /// Adds a network by its log-posteriors, [rows][classes] (log_posteriors). All have the same rows and classes.
  void add(std::span<const float> log_posteriors);

  /// Cross-entropy and error over the rows of the subset that the log-posteriors are of. Throws ConfigError if there are
  /// none.
  Score score(const data::Dataset& dataset, data::Subset subset) const;

 private:
  std::vector<double> sums_;  // [rows][classes] of posteriors
  double networks_ = 0;
};

}  // namespace paragrad::train
