#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/philox.hpp"

/// Damaged inputs for readers, the same on every machine.
namespace paragrad::test {

/// To be put into damaged JSON.
inline constexpr std::array<std::string_view, 16> json_words{
    "null", "-1", "0.5", "1e308", "99999999999", "{", "}", "[]", "\"", ",", ":", "true", "\"a\"", "\\u0000", "\xff", "{}"};

/// Numbers of one input.
class Draw {
 public:
  explicit Draw(std::size_t input) : stream_(input, core::Purpose::generator) {}

  /// In [0, below); 0 if below is 0.
  std::size_t below(std::size_t below) {
    return below == 0 ? 0 : static_cast<std::size_t>(stream_.uniform(next_++) * static_cast<double>(below));
  }

 private:
  core::RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// A file with one to four damages: bits flipped, bytes set, pieces left out, repeated, cut off or taken from another place;
/// where it is a text, perhaps one of the `words` put in.
template <std::size_t N = 0>
std::string mutated(std::string file, std::size_t input, const std::array<std::string_view, N>& words = {}) {
  constexpr std::array<unsigned char, 8> extremes{0, 1, 0x7f, 0x80, 0xff, 0xfe, ' ', '0'};
  Draw draw(input);
  for (std::size_t damages = 1 + draw.below(2) * draw.below(4); damages > 0; --damages) {
    const std::size_t at = draw.below(file.size()), length = std::min(1 + draw.below(16), file.size() - at);
    switch (draw.below(N > 0 ? 8 : 7)) {
      case 0:
        if (!file.empty()) file[at] = static_cast<char>(file[at] ^ 1 << draw.below(8));
        break;
      case 1:
        if (!file.empty()) file[at] = static_cast<char>(extremes[draw.below(extremes.size())]);
        break;
      case 2:
        for (std::size_t i = at; i < at + length; ++i) file[i] = static_cast<char>(draw.below(256));
        break;
      case 3:
        file.erase(at, length);
        break;
      case 4:
        file.insert(at, file.substr(draw.below(file.size()), length));
        break;
      case 5:
        file.resize(at);
        break;
      case 6:
        file.replace(at, length, file.substr(draw.below(file.size()), length));
        break;
      default:
        if constexpr (N > 0) file.insert(at, words[draw.below(N)]);
    }
  }
  return file;
}

}  // namespace paragrad::test
