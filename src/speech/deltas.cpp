#include "speech/deltas.hpp"

#include <algorithm>
#include <vector>

namespace paragrad::speech {
namespace {

/// The filter of the next derivative: `filter` convolved with the regression over `window` frames on either side.
std::vector<double> derived(const std::vector<double>& filter, std::size_t window) {
  std::vector<double> next(filter.size() + 2 * window, 0);
  double squares = 0;
  for (std::size_t j = 1; j <= window; ++j) squares += 2 * static_cast<double>(j * j);
  for (std::size_t j = 0; j <= 2 * window; ++j)
    for (std::size_t i = 0; i < filter.size(); ++i)
      next[i + j] += (static_cast<double>(j) - static_cast<double>(window)) / squares * filter[i];
  return next;
}

}  // namespace

Features add_deltas(const Features& features, std::size_t order, std::size_t window) {
  const std::size_t dim = features.columns;
  Features out(features.rows, (order + 1) * dim);
  std::vector<double> filter{1}, sum(dim);
  for (std::size_t n = 0; n <= order; ++n) {
    const std::size_t reach = filter.size() / 2;
    for (std::size_t t = 0; t < features.rows; ++t) {
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t j = 0; j < filter.size(); ++j) {
        const std::size_t at = t + j < reach ? 0 : std::min(t + j - reach, features.rows - 1);
        for (std::size_t d = 0; d < dim; ++d) sum[d] += filter[j] * features.row(at)[d];
      }
      std::copy(sum.begin(), sum.end(), out.row(t).begin() + static_cast<std::ptrdiff_t>(n * dim));
    }
    filter = derived(filter, window);
  }
  return out;
}

}  // namespace paragrad::speech
