#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paragrad::speech {

enum class WindowFunction { povey, hamming, hann, rectangular };

/// How a signal is cut into frames: the options of Kaldi's feature extraction (feat/feature-window.h) with their defaults,
/// except dither, so that the same signal always gives the same features.
struct FrameOptions {
  double sample_rate = 16000;                     ///< per second
  double length_s = 0.025;                        ///< of a frame
  double shift_s = 0.010;                         ///< from frame to frame
  double preemphasis = 0.97;                      ///< x[t] - preemphasis * x[t-1]
  bool remove_mean = true;                        ///< of each frame
  WindowFunction window = WindowFunction::povey;  ///< povey: the Hann window to the power 0.85
  /// true: only frames entirely within the signal. false: one frame per shift, with the signal reflected at its ends.
  bool snip_edges = true;
};

/// Cuts frames from a signal and prepares them for the Fourier transform, in double. Not thread-safe.
class FrameCutter {
 public:
  /// Throws ConfigError if rate, length or shift give no valid frame.
  explicit FrameCutter(const FrameOptions& options);

  std::size_t length() const { return window_.size(); }  ///< samples of a frame
  std::size_t shift() const { return shift_; }           ///< samples
  std::size_t padded_length() const { return padded_; }  ///< the power of two that holds a frame
  std::size_t frames(std::size_t samples) const;         ///< of a signal

  /// Writes frame `index` of the signal to cut[padded_length]: mean removed, pre-emphasised, windowed, padded with zeros.
  /// Returns the energy (sum of squares) after mean removal and before the other steps.
  double cut(std::span<const float> signal, std::size_t index, std::span<double> cut) const;

 private:
  FrameOptions options_;
  std::size_t shift_;
  std::size_t padded_;
  std::vector<double> window_;  // [length]
};

}  // namespace paragrad::speech
