#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Pieces of WAV files.
namespace paragrad::speech {

inline std::string little(std::uint32_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string part(const std::string& name, const std::string& content) {
  return name + little(static_cast<std::uint32_t>(content.size()), 4) + content + (content.size() % 2 ? "?" : "");
}

inline std::string format(std::uint32_t encoding, std::uint32_t channels, std::uint32_t rate, std::uint32_t bits) {
  return little(encoding, 2) + little(channels, 2) + little(rate, 4) + little(rate * 2, 4) + little(2, 2) + little(bits, 2);
}

inline std::string riff(const std::string& parts) { return part("RIFF", "WAVE" + parts); }

inline std::string samples(const std::vector<float>& values) {
  std::string text;
  for (const float x : values) text += little(static_cast<std::uint32_t>(static_cast<std::int32_t>(x)), 2);
  return text;
}

}  // namespace paragrad::speech
