#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "speech/frames.hpp"
#include "speech/matrix.hpp"

namespace paragrad::speech {

struct FbankOptions {
  FrameOptions frame;
  std::size_t bins = 40;    ///< triangular filters, equally spaced on the mel scale
  double low_hz = 20;       ///< lower edge of the first
  double high_hz = 0;       ///< upper edge of the last; 0 or negative: that far from half the sample rate
  bool add_energy = false;  ///< the log energy of the frame (mean removed) as column 0 before the filters
};

/// Logarithms of mel filterbank energies by Kaldi's conventions (feat/feature-fbank.h, feat/mel-computations.h): power
/// spectrum, mel(f) = 1127 ln(1 + f/700), triangles on the mel scale, floor of 1.19e-7 before the logarithm.
///
/// Signals are in steps of 16-bit samples (-32768 … 32767), as Kaldi sees them; another scale adds a constant to each
/// number. Reckoned in double. About 6 µs a frame of 25 ms at 16 kHz, over 1,000 times faster than the speech lasts. Not for
/// use by two threads at once.
class Fbank {
 public:
  explicit Fbank(const FbankOptions& options);  ///< throws ConfigError for options that make no filters
  ~Fbank();

  std::size_t dim() const;                                   ///< bins, and one more with the energy
  std::size_t frames(std::size_t samples) const;             ///< of a signal; 0 for one that is too short
  Features operator()(std::span<const float> signal) const;  ///< [frames][dim]

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace paragrad::speech
