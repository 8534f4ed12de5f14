#include "speech/fbank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "speech/real_fft.hpp"

namespace paragrad::speech {
namespace {

double mel(double hz) { return 1127 * std::log1p(hz / 700); }

/// The spectral lines with non-zero weight in a filter.
struct Filter {
  std::size_t first = 0;
  std::vector<double> weights;

  double operator()(std::span<const double> power) const {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * power[first + i];
    return sum;
  }
};

void check(const FbankOptions& options, double high_hz) {
  const double half_rate = options.frame.sample_rate / 2;
  if (!(options.low_hz >= 0 && options.low_hz < high_hz && high_hz <= half_rate))
    throw core::ConfigError(core::format("mel filters from {} to {} Hz must lie between 0 and {} Hz, half the sample rate",
                                         options.low_hz, high_hz, half_rate));
  if (options.bins < 1 || options.bins > 4096)
    throw core::ConfigError(core::format("{} mel filters are not usable: choose 1 to 4096", options.bins));
}

/// A triangle from `left` over `centre` to `right`, in mel, at the spectral lines below half the sample rate.
Filter triangle(double left, double centre, double right, std::size_t lines, double hz_per_line) {
  Filter filter;
  for (std::size_t line = 0; line < lines; ++line) {
    const double at = mel(hz_per_line * static_cast<double>(line));
    if (at <= left || at >= right) continue;
    if (filter.weights.empty()) filter.first = line;
    filter.weights.push_back(at <= centre ? (at - left) / (centre - left) : (right - at) / (right - centre));
  }
  return filter;
}

std::vector<Filter> make_filters(const FbankOptions& options, std::size_t padded_length) {
  const double high_hz = options.high_hz > 0 ? options.high_hz : options.frame.sample_rate / 2 + options.high_hz;
  check(options, high_hz);
  const double first = mel(options.low_hz), step = (mel(high_hz) - first) / static_cast<double>(options.bins + 1);
  const double hz_per_line = options.frame.sample_rate / static_cast<double>(padded_length);
  std::vector<Filter> filters;
  for (std::size_t bin = 0; bin < options.bins; ++bin) {
    const double left = first + step * static_cast<double>(bin);
    filters.push_back(triangle(left, left + step, left + 2 * step, padded_length / 2, hz_per_line));
    if (filters.back().weights.empty())
      throw core::ConfigError(core::format("mel filter {} of {} covers no spectral line: use fewer filters or longer frames",
                                           bin + 1, options.bins));
  }
  return filters;
}

float floored_log(double energy) {
  return static_cast<float>(std::log(std::max<double>(energy, std::numeric_limits<float>::epsilon())));
}

}  // namespace

struct Fbank::Machine {
  explicit Machine(const FbankOptions& options)
      : options(options),
        cutter(options.frame),
        fft(cutter.padded_length()),
        filters(make_filters(options, cutter.padded_length())),
        frame(cutter.padded_length()),
        power(cutter.padded_length() / 2 + 1) {}

  FbankOptions options;
  FrameCutter cutter;
  RealFft fft;
  std::vector<Filter> filters;
  std::vector<double> frame, power;
};

Fbank::Fbank(const FbankOptions& options) : machine_(std::make_unique<Machine>(options)) {}
Fbank::~Fbank() = default;

std::size_t Fbank::dim() const { return machine_->filters.size() + (machine_->options.add_energy ? 1 : 0); }

std::size_t Fbank::frames(std::size_t samples) const { return machine_->cutter.frames(samples); }

Features Fbank::operator()(std::span<const float> signal) const {
  auto& m = *machine_;
  Features features(frames(signal.size()), dim());
  for (std::size_t t = 0; t < features.rows; ++t) {
    const double energy = m.cutter.cut(signal, t, m.frame);
    m.fft.power_spectrum(m.frame, m.power);
    auto out = features.row(t).begin();
    if (m.options.add_energy) *out++ = floored_log(energy);
    for (const auto& filter : m.filters) *out++ = floored_log(filter(m.power));
  }
  return features;
}

}  // namespace paragrad::speech
