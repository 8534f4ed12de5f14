#include "speech/real_fft.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace paragrad::speech {
namespace {

using Complex = std::complex<double>;

/// The product without the handling of infinities in operator*.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

RealFft::RealFft(std::size_t size) : half_(size / 2), roots_(half_), reversed_(half_), work_(half_) {
  if (size < 4 || !std::has_single_bit(size)) throw std::logic_error("RealFft: the size is no power of two of at least 4");
  for (std::size_t k = 0; k < half_; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    roots_[k] = {std::cos(angle), std::sin(angle)};
    reversed_[k] = k == 0 ? 0 : reversed_[k / 2] / 2 + (k % 2) * half_ / 2;
  }
}

void RealFft::transform() {
  for (std::size_t length = 2; length <= half_; length *= 2) {
    const std::size_t stride = 2 * half_ / length;  // in roots_, which are for the real length
    for (std::size_t begin = 0; begin < half_; begin += length)
      for (std::size_t k = 0; k < length / 2; ++k) {
        Complex& low = work_[begin + k];
        Complex& high = work_[begin + k + length / 2];
        const Complex turned = times(high, roots_[k * stride]);
        high = low - turned;
        low += turned;
      }
  }
}

// z[t] = x[2t] + i x[2t+1] has Z = E + iO, where E and O are the transforms of the even and the odd samples; both are
// Hermitian, so E[k] = (Z[k] + conj Z[h-k]) / 2 and O[k] = (Z[k] - conj Z[h-k]) / 2i. Then X[k] = E[k] + exp(-2 pi i k/n)
// O[k].
void RealFft::power_spectrum(std::span<const double> signal, std::span<double> power) {
  if (signal.size() != size() || power.size() != half_ + 1) throw std::logic_error("RealFft: sizes differ");
  for (std::size_t t = 0; t < half_; ++t) work_[reversed_[t]] = {signal[2 * t], signal[2 * t + 1]};
  transform();
  const double sum = work_[0].real() + work_[0].imag(), difference = work_[0].real() - work_[0].imag();
  power[0] = sum * sum;
  power[half_] = difference * difference;
  for (std::size_t k = 1; k < half_; ++k) {
    const Complex z = work_[k], mirrored = std::conj(work_[half_ - k]);
    const Complex even = 0.5 * (z + mirrored), odd = times({0, -0.5}, z - mirrored);
    power[k] = std::norm(even + times(roots_[k], odd));
  }
}

}  // namespace paragrad::speech
