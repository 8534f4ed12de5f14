#pragma once

#include <cstddef>
#include <vector>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Sums over frames that give mean and variance of each feature, in double: of an utterance, a speaker, or all data.
class FeatureStatistics {
 public:
  explicit FeatureStatistics(std::size_t dim) : sum_(dim, 0), squares_(dim, 0) {}

  template <class T>
  void add(const Matrix<T>& features);  ///< T: float or double

  /// Loads Kaldi's statistics, [2][dim + 1]: sums of the features and the number of frames; sums of their squares.
  /// Throws ConfigError for anything else, without a file name, which the caller must add.
  void load(const Matrix<double>& kaldi);

  double frames() const { return frames_; }

  /// features -> (features - mean) / standard deviation, in place; a constant feature becomes zero. The variance of loaded
  /// statistics has a floor of 1e-10 of the mean square. Throws std::logic_error without frames.
  template <class T>
  void normalise(Matrix<T>& features) const;

 private:
  struct Moments {
    double mean, variance;
  };
  Moments moments(std::size_t d) const;

  double frames_ = 0;
  bool loaded_ = false;
  std::vector<double> sum_;      // [dim]
  std::vector<double> squares_;  // [dim]
  // The same of the differences from the first frame: precise where the mean is much larger than the deviation.
  std::vector<double> first_, differences_, squared_differences_;
};

}  // namespace paragrad::speech
