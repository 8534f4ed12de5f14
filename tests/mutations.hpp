#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Where the next number that is written in digits begins and ends.
inline std::pair<std::size_t, std::size_t> digits_from(const std::string& file, std::size_t at) {
  const std::size_t first = std::min(file.find_first_of("0123456789", at), file.size());
  return {first, std::min(file.find_first_not_of("0123456789", first), file.size())};
}

/// Another value for what may be a length: a number of 2, 4 or 8 bytes of either order that is not zero and at most 16 times
/// the size of the file.
inline void lie(std::string& file, Draw& draw) {
  constexpr std::array<std::size_t, 4> widths{2, 4, 4, 8};
  const std::size_t width = widths[draw.below(widths.size())];
  const bool upper_first = draw.below(2) == 0;
  const auto byte = [&](std::size_t at, std::size_t i) { return at + (upper_first ? width - 1 - i : i); };  // i: of 256^i
  std::vector<std::pair<std::size_t, std::uint64_t>> lengths;  // with their places
  for (std::size_t at = 0; at + width <= file.size(); ++at) {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[byte(at, i)]);
    if (value > 0 && value <= 16 * file.size()) lengths.emplace_back(at, value);
  }
  if (lengths.empty()) return;
  const auto& [at, value] = lengths[draw.below(lengths.size())];
  const std::array<std::uint64_t, 7> lies{value - 1,  value + 1,  value << draw.below(24),           0x10000000,
                                          0x7fffffff, 0xc0000000, ~std::uint64_t{0} >> draw.below(2)};
  const std::uint64_t lie = lies[draw.below(lies.size())];
  const auto put = [&](std::size_t place) {
    for (std::size_t i = 0; i < width; ++i) file[byte(place, i)] = static_cast<char>(lie >> 8 * i);
  };
  put(at);
  switch (draw.below(3)) {
    case 0:  // with its neighbour, as sizes before and after compression are
      if (at + 2 * width <= file.size()) put(at + width);
      break;
    case 1:  // wherever the same length is written
      for (const auto& [place, length] : lengths)
        if (length == value) put(place);
      break;
    default:
      break;
  }
}

/// Damage that grows: a piece repeated up to 2^16 times, one in 16 times up to 2^24, brackets that nest, numbers that
/// promise what is not there. Up to 1 MB, or 16 MB.
inline void exaggerate(std::string& file, Draw& draw) {
  const std::size_t doublings_more = draw.below(16) == 0 ? 8 : 0, most = std::size_t{1} << (20 + doublings_more / 2);
  constexpr std::array<std::string_view, 8> claims{
      "0", "-1", "255", "65536", "2147483648", "99999999999", "18446744073709551615", "1e308"};
  constexpr std::array<std::array<std::string_view, 2>, 7> brackets{
      {{"[", "]"}, {"{", "}"}, {"(", ")"}, {"a.", ""}, {"{a=", "}"}, {"{\"a\":", "}"}, {"<a>", "</a>"}}};
  const std::size_t at = draw.below(file.size());
  switch (draw.below(4)) {
    case 0: {
      const std::string piece = file.substr(at, 1 + draw.below(std::size_t{1} << draw.below(7)));
      std::string many = piece;
      for (std::size_t doublings = draw.below(17 + doublings_more); doublings > 0 && 2 * many.size() <= most; --doublings)
        many += many;
      file.insert(at, many);
      break;
    }
    case 1: {
      const auto [opening, closing] = brackets[draw.below(brackets.size())];
      const bool closed = draw.below(2) == 0;
      std::string many, end;
      for (std::size_t levels = std::size_t{1} << draw.below(18); levels > 0; --levels) {
        many += opening;
        if (closed) end += closing;
      }
      const auto [first, last] = draw.below(2) == 0 ? digits_from(file, at) : std::pair(at, at);  // a number, or nothing
      file.insert(last, end);
      file.insert(first, many);
      break;
    }
    case 2: {  // a number written in digits
      const auto [first, last] = digits_from(file, at);
      file.replace(first, last - first, claims[draw.below(claims.size())]);
      break;
    }
    default:
      lie(file, draw);
  }
}

/// A file with one to four damages: bits flipped, bytes set, pieces left out, repeated, cut off or taken from another place;
/// where it is a text, perhaps one of the `words` put in. One in four grows (exaggerate), half of these
/// without further damage.
template <std::size_t N = 0>
std::string mutated(std::string file, std::size_t input, const std::array<std::string_view, N>& words = {}) {
  constexpr std::array<unsigned char, 8> extremes{0, 1, 0x7f, 0x80, 0xff, 0xfe, ' ', '0'};
  Draw draw(input);
  if (draw.below(4) == 0) {
    exaggerate(file, draw);
    if (draw.below(2) == 0) return file;
  }
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
