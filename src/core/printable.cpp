#include "core/printable.hpp"

#include <algorithm>
#include <cstdint>

#include "core/format.hpp"

namespace paragrad::core {
namespace {

/// Length in bytes of the UTF-8 character at text[at], and its code point; 0 if it is invalid.
std::size_t character(std::string_view text, std::size_t at, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || at + length > text.size()) return 0;
  code = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

bool is_control(std::uint32_t code) {
  const bool turns =
      (code >= 0x200E && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || turns;
}

/// The last position up to `at` where a character begins, so that a word may be cut there.
std::size_t cut(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

void append_utf8(std::string& text, std::uint32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr std::uint32_t marks[] = {0, 0xC0, 0xE0, 0xF0};
  add(marks[more] | code >> (6 * more));
  for (int i = more; i-- > 0;) add(0x80 | (code >> (6 * i) & 0x3F));
}

bool is_utf8(std::string_view text) {
  std::uint32_t code = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character(text, i, code);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t code = 0;
    const std::size_t length = character(text, i, code);
    if (length > 0 && !is_control(code)) {
      result += text.substr(i, length);
    } else if (text[i] == '\n' || text[i] == '\t') {
      result += text[i] == '\n' ? "\\n" : "\\t";
    } else {
      for (std::size_t k = i; k < i + std::max<std::size_t>(length, 1); ++k)
        result += format("\\x{:02x}", static_cast<unsigned char>(text[k]));
    }
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string printable_message(std::string_view text) {
  constexpr std::size_t longest = 300, head = 100, tail = 40;
  const std::string all = printable(text);
  std::string result;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(' ', begin), all.size());
    const std::string_view word = std::string_view(all).substr(begin, end - begin);
    if (word.size() <= longest)
      result += word;
    else
      result += format("{}[... {} bytes ...]{}", word.substr(0, cut(word, head)), word.size() - head - tail,
                       word.substr(cut(word, word.size() - tail)));
    if (end < all.size()) result += ' ';
    begin = end + 1;
  }
  return result;
}

}  // namespace paragrad::core
