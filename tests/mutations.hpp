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

/// Damage that grows: a piece repeated up to 2^16 times, brackets that nest, numbers that promise what is not there.
inline void exaggerate(std::string& file, Draw& draw) {
  constexpr std::size_t most = std::size_t{1} << 20;
  constexpr std::array<std::string_view, 8> claims{
      "0", "-1", "255", "65536", "2147483648", "99999999999", "18446744073709551615", "1e308"};
  constexpr std::array<std::string_view, 6> opening{"[", "{", "(", "[a.", "{\"a\":", "<a>"};
  const std::size_t at = draw.below(file.size());
  switch (draw.below(4)) {
    case 0: {
      const std::string piece = file.substr(at, 1 + draw.below(64));
      std::string many = piece;
      for (std::size_t doublings = draw.below(17); doublings > 0 && 2 * many.size() <= most; --doublings) many += many;
      file.insert(at, many);
      break;
    }
    case 1: {
      const std::string_view bracket = opening[draw.below(opening.size())];
      std::string many;
      for (std::size_t levels = std::size_t{1} << draw.below(17); levels > 0; --levels) many += bracket;
      file.insert(at, many);
      break;
    }
    case 2: {  // a number written in digits
      const std::size_t first = std::min(file.find_first_of("0123456789", at), file.size());
      const std::size_t last = std::min(file.find_first_not_of("0123456789", first), file.size());
      file.replace(first, last - first, claims[draw.below(claims.size())]);
      break;
    }
    default: {  // a number of 2, 4 or 8 bytes, of either order
      const std::size_t bytes = std::min(std::size_t{2} << draw.below(3), file.size() - at);
      const bool high = draw.below(2) == 0;
      for (std::size_t i = 0; i < bytes; ++i)
        file[at + i] = static_cast<char>((i < (bytes + 1) / 2) == high ? 0 : draw.below(3) == 0 ? 0x7f : 0xff);
    }
  }
}

/// A file with one to four damages: bits flipped, bytes set, pieces left out, repeated, cut off or taken from another place;
/// where it is a text, perhaps one of the `words` put in. One in eight grows (exaggerate).
template <std::size_t N = 0>
std::string mutated(std::string file, std::size_t input, const std::array<std::string_view, N>& words = {}) {
  constexpr std::array<unsigned char, 8> extremes{0, 1, 0x7f, 0x80, 0xff, 0xfe, ' ', '0'};
  Draw draw(input);
  if (draw.below(8) == 0) exaggerate(file, draw);
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
