#pragma once

#include <cstddef>
#include <vector>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Sums over frames that give mean and variance of each feature, in double: of an utterance, a speaker, or all data.
class FeatureStatistics {
 public:
  explicit FeatureStatistics(std::size_t dim) : sum_(dim, 0), squares_(dim, 0) {}

  void add(const Features& features);

  /// Loads Kaldi's statistics, [2][dim + 1]: sums of the features and the number of frames; sums of their squares.
  /// Throws ConfigError for anything else, without a file name, which the caller must add.
  void add(const Matrix<double>& kaldi);

  double frames() const { return frames_; }

  /// features -> (features - mean) / standard deviation, in place. The variance has a floor of 1e-10 of the mean square, so
  /// a constant feature becomes zero. Throws std::logic_error without frames.
  void normalise(Features& features) const;

 private:
  double frames_ = 0;
  std::vector<double> sum_;      // [dim]
  std::vector<double> squares_;  // [dim]
};

}  // namespace paragrad::speech
