#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "speech/synthesis/voice.hpp"

namespace paragrad::speech {

/// Warps of the vocal tract: 0.85, 0.86, … 1.15. Every fifth is held out of the training set.
inline constexpr std::size_t warps = 31;
constexpr double warp_factor(std::size_t warp) { return 0.85 + 0.01 * static_cast<double>(warp); }
constexpr bool is_held_out(std::size_t warp) { return warp % 5 == 2; }

/// How one utterance differs from what a voice says by itself.
struct Variation {
  std::size_t voice = 0;  ///< index into the voices that may speak
  std::size_t warp = 15;  ///< index of the factor by which the sound is resampled (resample.hpp)
  Manner manner;          ///< pitch 0.8 … 1.2, duration 0.85 … 1.2
  double channel = 0;     ///< -0.5 … 0.5: pole of the filter y[t] = (1 - |a|) x[t] + a y[t-1]
  double colour = 0;      ///< 0 … 0.95: pole of the filter that noise goes through
  double noise_db = 30;   ///< 5 … 30: how far the mean power of the noise is below that of the speech
  double gain_db = 0;     ///< -20 … 0
  std::uint32_t id = 0;   ///< seeds the noise in the voice
};

/// Draws it for utterance `index` from the stream alone; of warps those that are held out, or those that are not.
Variation draw_variation(const core::RandomStream& draws, std::uint64_t index, std::size_t voices, bool held_out);

/// "slt-0.93": voice and warp are what there is of a speaker.
std::string speaker_name(const std::string& voice, const Variation& variation);

/// The sound of a voice after warp, channel, noise and gain, as 16-bit samples would have it (whole, within their range).
/// noise: a stream of its own, in which the numbers of utterance `index` begin at index · 2^32.
std::vector<float> vary(std::span<const float> spoken, const Variation& variation, const core::RandomStream& noise,
                        std::uint64_t index);

}  // namespace paragrad::speech
