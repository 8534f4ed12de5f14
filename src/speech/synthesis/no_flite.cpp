#include "core/errors.hpp"
#include "speech/synthesis/voice.hpp"

namespace paragrad::speech {

std::vector<std::string> Voice::names() { return {}; }

bool Voice::available() { return false; }

Voice::Voice(const std::string&) : voice_(nullptr) {
  throw core::ConfigError(
      "this program was built without the speech synthesiser flite; install flite1-dev and build it again");
}

Spoken Voice::say(const std::string&, const Manner&, std::uint32_t) { return {}; }

}  // namespace paragrad::speech
