#include "speech/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {

void FeatureStatistics::add(const Features& features) {
  if (features.columns != sum_.size()) throw std::logic_error("FeatureStatistics::add: dimensions differ");
  frames_ += static_cast<double>(features.rows);
  for (std::size_t t = 0; t < features.rows; ++t) {
    const auto frame = features.row(t);
    for (std::size_t d = 0; d < frame.size(); ++d) {
      const double x = frame[d];
      sum_[d] += x;
      squares_[d] += x * x;
    }
  }
}

void FeatureStatistics::add(const Matrix<double>& kaldi) {
  const std::size_t dim = sum_.size();
  if (kaldi.rows != 2 || kaldi.columns != dim + 1)
    throw core::ConfigError(
        core::format("statistics of {} features must be a matrix 2x{}, not {}x{}", dim, dim + 1, kaldi.rows, kaldi.columns));
  const double frames = kaldi.row(0)[dim];
  const bool finite = std::all_of(kaldi.values.begin(), kaldi.values.end(), [](double x) { return std::isfinite(x); });
  if (!finite || !(frames >= 1))
    throw core::ConfigError("the statistics cover no frames or contain numbers that are not finite");
  frames_ += frames;
  for (std::size_t d = 0; d < dim; ++d) {
    sum_[d] += kaldi.row(0)[d];
    squares_[d] += kaldi.row(1)[d];
  }
}

void FeatureStatistics::normalise(Features& features) const {
  if (features.columns != sum_.size() || !(frames_ > 0))
    throw std::logic_error("FeatureStatistics::normalise: no statistics");
  std::vector<double> mean(sum_.size()), scale(sum_.size());
  for (std::size_t d = 0; d < mean.size(); ++d) {
    mean[d] = sum_[d] / frames_;
    const double square = squares_[d] / frames_;
    scale[d] = 1 / std::sqrt(std::max({square - mean[d] * mean[d], 1e-10 * square, 1e-20}));
  }
  for (std::size_t t = 0; t < features.rows; ++t) {
    const auto frame = features.row(t);
    for (std::size_t d = 0; d < frame.size(); ++d) frame[d] = static_cast<float>((frame[d] - mean[d]) * scale[d]);
  }
}

}  // namespace paragrad::speech
