#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace paragrad::speech {

/// The use of a random stream.
enum class Draw : std::uint32_t { order, variation, noise };

/// One stream per use and subset; the order of sentences has one per pass over them.
inline core::RandomStream draws_of(std::uint64_t seed, Draw use, std::uint32_t subset, std::uint32_t pass = 0) {
  return {seed, core::Purpose::generated_speech, static_cast<std::uint32_t>(use) + 4 * subset + 16 * pass};
}

}  // namespace paragrad::speech
