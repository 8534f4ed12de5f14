#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paragrad::speech {

/// How a sentence is to be said.
struct Manner {
  double pitch = 1;     ///< times the voice's own mean
  double duration = 1;  ///< times the voice's own
};

/// What a voice said.
struct Spoken {
  std::vector<float> samples{};        ///< in steps of 16-bit samples
  std::vector<std::uint8_t> states{};  ///< phone_state of phones.hpp every 5 ms: item j is what sample 80 j is made of
};

inline constexpr double voice_sample_rate = 16000;   ///< per second
inline constexpr std::size_t samples_per_item = 80;  ///< 5 ms

/// A voice of flite (Black and Lenzo, 2001) of the kind clustergen (Black, CLUSTERGEN, Interspeech 2006): statistics of mel
/// cepstra for each state of each phone, which know exactly what state each 5 ms are. About 1/70 of the time that the speech
/// lasts. For one thread of a process alone: flite has variables of its own, and draws from rand().
///
/// Throws ConfigError for an unknown name, and where the program was built without flite.
class Voice {
 public:
  static std::vector<std::string> names();
  static bool available();  ///< was the program built with flite?

  explicit Voice(const std::string& name);

  /// The same for the same arguments, whatever was said before. `id` seeds the noise in the voice. Throws ConfigError for a
  /// text that produces no sound.
  Spoken say(const std::string& text, const Manner& manner, std::uint32_t id);

 private:
  void* voice_;
};

}  // namespace paragrad::speech
