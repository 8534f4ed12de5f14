#include "speech/synthesis/resample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>

namespace paragrad::speech {
namespace {

constexpr std::size_t phases = 256;  // of the kernel between two samples; the nearest is used
constexpr std::size_t lanes = 8;     // partial sums, so that the compiler can keep them in a register

/// The kernel at every phase, [phases + 1][2 half]: tap j of phase p weighs the sample at j - (half - 1) - p / phases.
class Kernel {
 public:
  explicit Kernel(double cutoff) : half_(cutoff == 1 ? 8 : 12), taps_((phases + 1) * 2 * half_) {
    for (std::size_t p = 0; p <= phases; ++p)
      for (std::size_t j = 0; j < 2 * half_; ++j) {
        const double x = static_cast<double>(j) - static_cast<double>(half_ - 1) - static_cast<double>(p) / phases;
        taps_[p * 2 * half_ + j] = static_cast<float>(value(x, cutoff));
      }
  }

  std::size_t half() const { return half_; }
  std::span<const float> phase(std::size_t p) const { return std::span(taps_).subspan(p * 2 * half_, 2 * half_); }

 private:
  double value(double x, double cutoff) const {
    const double reach = static_cast<double>(half_);
    if (std::abs(x) >= reach) return 0;
    const double window = 0.5 + 0.5 * std::cos(std::numbers::pi * x / reach);
    const double angle = std::numbers::pi * cutoff * x;
    return cutoff * window * (std::abs(angle) < 1e-9 ? 1 : std::sin(angle) / angle);
  }

  std::size_t half_;
  std::vector<float> taps_;
};

float product(std::span<const float> taps, const float* from) {
  std::array<float, lanes> sums{};
  for (std::size_t j = 0; j < taps.size(); j += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += taps[j + lane] * from[j + lane];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

std::vector<float> resample(std::span<const float> signal, double factor) {
  if (!(factor >= 2. / 3 && factor <= 2)) throw std::logic_error("resample: a factor outside 2/3 … 2");
  const Kernel kernel(std::min(1.0, factor));
  std::vector<float> padded(signal.size() + 2 * kernel.half() + 1, 0.f);  // zero padding, so the ends need no special case
  std::ranges::copy(signal, padded.begin() + static_cast<std::ptrdiff_t>(kernel.half()));
  std::vector<float> result(static_cast<std::size_t>(std::floor(factor * static_cast<double>(signal.size()))));
  for (std::size_t n = 0; n < result.size(); ++n) {
    const double at = static_cast<double>(n) / factor;
    const auto whole = static_cast<std::size_t>(at);
    const auto taps = kernel.phase(static_cast<std::size_t>(std::lround((at - static_cast<double>(whole)) * phases)));
    result[n] = product(taps, &padded[whole + 1]);
  }
  return result;
}

}  // namespace paragrad::speech
