#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace paragrad::speech {

/// Discrete Fourier transform of n real numbers, n a power of two of at least 4:
///   X[k] = sum over t of x[t] exp(-2 pi i k t / n),  k = 0 … n/2
/// as a complex transform of half the length, radix 2, in double. Cost about 5/2 n log2 n operations. Not thread-safe: it
/// has its own work memory.
class RealFft {
 public:
  explicit RealFft(std::size_t size);  ///< throws std::logic_error unless `size` is a power of two of at least 4

  std::size_t size() const { return 2 * half_; }

  /// power[n/2 + 1] = |X[k]|² of signal[n].
  void power_spectrum(std::span<const double> signal, std::span<double> power);

 private:
  void transform();

  std::size_t half_;                         // n / 2, the length of the complex transform
  std::vector<std::complex<double>> roots_;  // [n/2] exp(-2 pi i k / n)
  std::vector<std::size_t> reversed_;        // [n/2] index with its bits in reverse order
  std::vector<std::complex<double>> work_;   // [n/2]
};

}  // namespace paragrad::speech
