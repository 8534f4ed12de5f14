#pragma once

#include <cstddef>
#include <vector>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Sums over frames from which mean and variance of each feature follow, in double: of an utterance, a speaker, or all.
class FeatureStatistics {
 public:
  explicit FeatureStatistics(std::size_t dim) : sum_(dim, 0), squares_(dim, 0) {}

  void add(const Features& features);

  /// Takes over Kaldi's statistics, [2][dim + 1]: sums of the features and the number of frames; sums of their squares.
  /// Throws ConfigError (without a name; the caller knows it) unless that is what they are.
  void add(const Matrix<double>& kaldi);

  double frames() const { return frames_; }

  /// features -> (features - mean) / standard deviation, in place. A variance below 1e-10 of the mean square, or zero,
  /// becomes that floor: a feature that never changes becomes zero. std::logic_error without frames.
  void normalise(Features& features) const;

 private:
  double frames_ = 0;
  std::vector<double> sum_;      // [dim]
  std::vector<double> squares_;  // [dim]
};

}  // namespace paragrad::speech
