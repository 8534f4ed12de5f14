#include "speech/mfcc.hpp"

#include <cmath>
#include <numbers>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {
namespace {

FbankOptions with_energy(FbankOptions options, bool energy) {
  options.add_energy = energy;
  return options;
}

double lifter_at(double lifter, std::size_t i) {
  return lifter == 0 ? 1 : 1 + lifter / 2 * std::sin(std::numbers::pi * static_cast<double>(i) / lifter);
}

Matrix<double> make_transform(const MfccOptions& options) {
  const std::size_t bins = options.fbank.bins;
  if (options.cepstra < 1 || options.cepstra > bins)
    throw core::ConfigError(
        core::format("{} cepstra cannot be computed from {} mel filters: choose 1 to {}", options.cepstra, bins, bins));
  Matrix<double> transform(options.cepstra, bins);
  const auto n = static_cast<double>(bins);
  for (std::size_t i = 0; i < options.cepstra; ++i)
    for (std::size_t b = 0; b < bins; ++b)
      transform.row(i)[b] = lifter_at(options.lifter, i) * std::sqrt((i == 0 ? 1 : 2) / n) *
                            std::cos(std::numbers::pi / n * (static_cast<double>(b) + 0.5) * static_cast<double>(i));
  return transform;
}

}  // namespace

Mfcc::Mfcc(const MfccOptions& options)
    : options_(options), fbank_(with_energy(options.fbank, options.use_energy)), transform_(make_transform(options)) {}

Features Mfcc::operator()(std::span<const float> signal) const {
  const Features energies = fbank_(signal);
  Features cepstra(energies.rows, dim());
  for (std::size_t t = 0; t < energies.rows; ++t) {
    const auto bins = energies.row(t).last(transform_.columns);
    for (std::size_t i = 0; i < dim(); ++i) {
      double sum = 0;
      for (std::size_t b = 0; b < bins.size(); ++b) sum += transform_.row(i)[b] * bins[b];
      cepstra.row(t)[i] = static_cast<float>(sum);
    }
    if (options_.use_energy) cepstra.row(t)[0] = energies.row(t)[0];
  }
  return cepstra;
}

}  // namespace paragrad::speech
