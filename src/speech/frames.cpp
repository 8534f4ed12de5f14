#include "speech/frames.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {
namespace {

constexpr double longest_frame = 1 << 24;  // samples; more is rejected as a mistake

std::size_t samples_of(const FrameOptions& options, double seconds, double least, const char* what) {
  const double samples = std::floor(options.sample_rate * seconds + 1e-9);  // 0.025 * 8000 is a little less than 200
  if (!(samples >= least && samples <= longest_frame))
    throw core::ConfigError(
        core::format("a {} of {} s at {} samples per second is not usable: it must be {} to {:.0f} samples", what, seconds,
                     options.sample_rate, least, longest_frame));
  return static_cast<std::size_t>(samples);
}

double window_at(WindowFunction window, double position) {  // position from 0 to 1
  const double cosine = std::cos(2 * std::numbers::pi * position);
  switch (window) {
    case WindowFunction::povey:
      return std::pow(0.5 - 0.5 * cosine, 0.85);
    case WindowFunction::hamming:
      return 0.54 - 0.46 * cosine;
    case WindowFunction::hann:
      return 0.5 - 0.5 * cosine;
    case WindowFunction::rectangular:
      return 1;
  }
  throw std::logic_error("no such window");
}

/// Position `at` of a signal reflected at both ends: … 1 0 | 0 1 2 … n-1 | n-1 n-2 …
std::size_t reflected(std::int64_t at, std::int64_t samples) {
  const std::int64_t period = 2 * samples;
  at = ((at % period) + period) % period;
  return static_cast<std::size_t>(at < samples ? at : period - 1 - at);
}

}  // namespace

FrameCutter::FrameCutter(const FrameOptions& options)
    : options_(options),
      shift_(samples_of(options, options.shift_s, 1, "frame shift")),
      window_(samples_of(options, options.length_s, 2, "frame")) {
  padded_ = std::max<std::size_t>(4, std::bit_ceil(window_.size()));
  for (std::size_t i = 0; i < window_.size(); ++i)
    window_[i] = window_at(options.window, static_cast<double>(i) / static_cast<double>(window_.size() - 1));
}

std::size_t FrameCutter::frames(std::size_t samples) const {
  if (!options_.snip_edges) return (samples + shift_ / 2) / shift_;
  return samples < length() ? 0 : 1 + (samples - length()) / shift_;
}

double FrameCutter::cut(std::span<const float> signal, std::size_t index, std::span<double> cut) const {
  if (cut.size() != padded_ || index >= frames(signal.size())) throw std::logic_error("FrameCutter::cut: no such frame");
  const auto frame = cut.first(length());
  if (options_.snip_edges) {
    std::copy_n(signal.begin() + static_cast<std::ptrdiff_t>(index * shift_), length(), frame.begin());
  } else {
    const auto middle = static_cast<std::int64_t>(index * shift_ + shift_ / 2);
    const auto first = middle - static_cast<std::int64_t>(length() / 2);
    for (std::size_t i = 0; i < length(); ++i)
      frame[i] = signal[reflected(first + static_cast<std::int64_t>(i), static_cast<std::int64_t>(signal.size()))];
  }
  double sum = 0, energy = 0;
  for (const double x : frame) sum += x;
  const double mean = options_.remove_mean ? sum / static_cast<double>(length()) : 0;
  for (double& x : frame) {
    x -= mean;
    energy += x * x;
  }
  for (std::size_t i = length() - 1; i > 0; --i) frame[i] = window_[i] * (frame[i] - options_.preemphasis * frame[i - 1]);
  frame[0] *= window_[0] * (1 - options_.preemphasis);
  std::fill(cut.begin() + static_cast<std::ptrdiff_t>(length()), cut.end(), 0.);
  return energy;
}

}  // namespace paragrad::speech
