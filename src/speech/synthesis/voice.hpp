#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paragrad::speech {

/// How a sentence is spoken.
struct Manner {
  double pitch = 1;     ///< factor on the voice's mean pitch
  double duration = 1;  ///< factor on the voice's duration
};

/// Synthesised speech with its states.
struct Spoken {
  std::vector<float> samples{};        ///< in units of 16-bit samples
  std::vector<std::uint8_t> states{};  ///< phone_state of phones.hpp every 5 ms: item j is the state at sample 80 j
};

inline constexpr double voice_sample_rate = 16000;   ///< per second
inline constexpr std::size_t samples_per_item = 80;  ///< 5 ms

/// A flite voice (Black and Lenzo, 2001) of the kind clustergen (Black, CLUSTERGEN, Interspeech 2006): statistics of mel
/// cepstra for each phone state, so the state of each 5 ms is known exactly. Runs in about 1/70 of real time. Use from one
/// thread only: flite has global variables and draws from rand().
///
/// Throws ConfigError for an unknown name, if the program was built without flite, or if the voice is not installed.
class Voice {
 public:
  static std::vector<std::string> names();
  static bool available();  ///< whether the program was built with flite

  explicit Voice(const std::string& name);

  /// The same for the same arguments, whatever was spoken before. `id` seeds the noise in the voice. Throws ConfigError for
  /// a text that produces no sound.
  Spoken say(const std::string& text, const Manner& manner, std::uint32_t id);

 private:
  void* voice_;
};

}  // namespace paragrad::speech
