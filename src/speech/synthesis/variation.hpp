#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "speech/synthesis/voice.hpp"

namespace paragrad::speech {

/// Warp factors of the vocal tract: 0.85, 0.86, … 1.15. Every fifth is excluded from the training set.
inline constexpr std::size_t warps = 31;
constexpr double warp_factor(std::size_t warp) { return 0.85 + 0.01 * static_cast<double>(warp); }
constexpr bool is_held_out(std::size_t warp) { return warp % 5 == 2; }

/// How one utterance differs from the unmodified voice.
struct Variation {
  std::size_t voice = 0;  ///< index into the selected voices
  std::size_t warp = 15;  ///< index of the factor by which the sound is resampled (resample.hpp)
  Manner manner;          ///< pitch 0.8 … 1.2, duration 0.85 … 1.2
  double channel = 0;     ///< -0.5 … 0.5: pole of the channel filter y[t] = (1 - |a|) x[t] + a y[t-1]
  double colour = 0;      ///< 0 … 0.95: pole of the noise filter
  double noise_db = 30;   ///< 5 … 30: signal-to-noise ratio of the mean powers
  double gain_db = 0;     ///< -20 … 0
  std::uint32_t id = 0;   ///< seeds the noise in the voice
};

/// Draws the variation of utterance `index` from the stream alone, with warps that are held out or warps that are not.
Variation draw_variation(const core::RandomStream& draws, std::uint64_t index, std::size_t voices, bool held_out);

/// "slt-0.93": a speaker is a voice with a warp.
std::string speaker_name(const std::string& voice, const Variation& variation);

/// The sound of a voice after warp, channel, noise and gain, rounded and clipped to 16-bit samples.
/// noise: a separate stream, in which the numbers of utterance `index` start at index · 2^32.
std::vector<float> vary(std::span<const float> spoken, const Variation& variation, const core::RandomStream& noise,
                        std::uint64_t index);

}  // namespace paragrad::speech
