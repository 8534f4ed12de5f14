#include "speech/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {

template <class T>
void FeatureStatistics::add(const Matrix<T>& features) {
  const std::size_t dim = sum_.size();
  if (features.columns != dim) throw std::logic_error("FeatureStatistics::add: dimensions differ");
  if (features.rows > 0 && first_.empty()) {
    first_.assign(features.row(0).begin(), features.row(0).end());
    differences_.assign(dim, 0);
    squared_differences_.assign(dim, 0);
  }
  frames_ += static_cast<double>(features.rows);
  for (std::size_t t = 0; t < features.rows; ++t) {
    const auto frame = features.row(t);
    for (std::size_t d = 0; d < dim; ++d) {
      const double x = frame[d], difference = x - first_[d];
      sum_[d] += x;
      squares_[d] += x * x;
      differences_[d] += difference;
      squared_differences_[d] += difference * difference;
    }
  }
}

template void FeatureStatistics::add(const Matrix<float>&);
template void FeatureStatistics::add(const Matrix<double>&);

void FeatureStatistics::load(const Matrix<double>& kaldi) {
  const std::size_t dim = sum_.size();
  if (kaldi.rows != 2 || kaldi.columns != dim + 1)
    throw core::ConfigError(
        core::format("statistics of {} features must be a matrix 2x{}, not {}x{}", dim, dim + 1, kaldi.rows, kaldi.columns));
  const double frames = kaldi.row(0)[dim];
  const bool finite = std::all_of(kaldi.values.begin(), kaldi.values.end(), [](double x) { return std::isfinite(x); });
  if (!finite || !(frames >= 1))
    throw core::ConfigError("the statistics cover no frames or contain numbers that are not finite");
  loaded_ = true;
  frames_ += frames;
  for (std::size_t d = 0; d < dim; ++d) {
    sum_[d] += kaldi.row(0)[d];
    squares_[d] += kaldi.row(1)[d];
  }
}

FeatureStatistics::Moments FeatureStatistics::moments(std::size_t d) const {
  const double mean = sum_[d] / frames_, square = squares_[d] / frames_, variance = square - mean * mean;
  constexpr double precise = 1e-8;  // of the square; the rounding of the sums is far below
  if (loaded_ || variance > precise * square) return {mean, std::max({variance, 1e-10 * square, 1e-20})};
  const double difference = differences_[d] / frames_;
  const double precise_variance = squared_differences_[d] / frames_ - difference * difference;
  return {first_[d] + difference, std::max({precise_variance, 1e-28 * square, 1e-20})};
}

template <class T>
void FeatureStatistics::normalise(Matrix<T>& features) const {
  if (features.columns != sum_.size() || !(frames_ > 0))
    throw std::logic_error("FeatureStatistics::normalise: no statistics");
  std::vector<double> mean(sum_.size()), scale(sum_.size());
  for (std::size_t d = 0; d < mean.size(); ++d) {
    const Moments mine = moments(d);
    mean[d] = mine.mean;
    scale[d] = 1 / std::sqrt(mine.variance);
  }
  for (std::size_t t = 0; t < features.rows; ++t) {
    const auto frame = features.row(t);
    for (std::size_t d = 0; d < frame.size(); ++d) frame[d] = static_cast<T>((frame[d] - mean[d]) * scale[d]);
  }
}

template void FeatureStatistics::normalise(Matrix<float>&) const;
template void FeatureStatistics::normalise(Matrix<double>&) const;

}  // namespace paragrad::speech
