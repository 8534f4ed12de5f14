#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Access to bit ranges at any position of a stream of 32-bit words, lower bits first. `bit` (from the beginning of the
/// stream) and `count` are in bits; `words` start at a word boundary.
namespace paragrad::backend::cpu {

inline std::uint32_t load_word(const std::byte* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void store_word(std::uint32_t word, std::byte* to) { std::memcpy(to, &word, sizeof word); }

/// Writes the first `count` bits of `words` at `bit`. Preceding bits are kept; following bits, to the end of the last word
/// touched, become 0: a stream is written from front to back.
inline void put_bits(std::byte* stream, std::size_t bit, const std::byte* words, std::size_t count) {
  const std::size_t shift = bit % 32;
  std::byte* to = stream + bit / 32 * 4;
  std::uint32_t left = shift == 0 ? 0 : load_word(to) & ((1u << shift) - 1);
  std::size_t done = 0;
  for (; done < count; done += 32, to += 4) {
    std::uint32_t word = load_word(words + done / 8);
    if (count - done < 32) word &= (1u << (count - done)) - 1;
    store_word(left | word << shift, to);
    left = shift == 0 ? 0 : word >> (32 - shift);
  }
  if (shift + count > done) store_word(left, to);
}

/// Reads `count` bits at `bit` into the first bits of `words`; the remaining bits of the last word are undefined.
inline void get_bits(const std::byte* stream, std::size_t bit, std::byte* words, std::size_t count) {
  const std::size_t shift = bit % 32;
  const std::byte* from = stream + bit / 32 * 4;
  for (std::size_t done = 0; done < count; done += 32, from += 4) {
    std::uint32_t word = load_word(from) >> shift;
    if (shift > 0 && count - done > 32 - shift) word |= load_word(from + 4) << (32 - shift);
    store_word(word, words + done / 8);
  }
}

}  // namespace paragrad::backend::cpu
