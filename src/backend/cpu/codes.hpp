#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/code_formulas.hpp"
#include "backend/cpu/vector.hpp"
#include "backend/quantiser.hpp"

/// The codes of backend/quantiser.hpp on vector registers: constructed for one column, they encode and decode 32 of its rows
/// at a time.
namespace paragrad::backend::cpu {

// 32 rows at a time: as many words as an element has bits, and sums whose order does not depend on the registers' width.
inline constexpr std::size_t group_rows = 32;
inline constexpr std::size_t group_vectors = group_rows / lanes;
inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t rows_per_sum = 4096;  // accurate in float32; longer sums continue in double

struct Group {
  Vector part[group_vectors] = {};
};

/// `count` rows and zeros, written out for a whole group: the last one of a column may be shorter.
inline Group load_group(const float* from, std::size_t count) {
  Group group;
  for (std::size_t p = 0; p < group_vectors; ++p) {
    const std::size_t begin = p * lanes;
    if (begin + lanes <= count)
      group.part[p] = load(from + begin);
    else if (begin < count)
      group.part[p] = load_part(from + begin, count - begin);
  }
  return group;
}

inline void store_group(const Group& group, float* to, std::size_t count) {
  for (std::size_t p = 0; p < group_vectors; ++p) {
    const std::size_t begin = p * lanes;
    if (begin + lanes <= count)
      store(group.part[p], to + begin);
    else if (begin < count)
      store_part(group.part[p], to + begin, count - begin);
  }
}

/// Repeatedly adds the upper half to the lower one.
inline float sum_of(Group group) {
  for (std::size_t half = group_vectors / 2; half > 0; half /= 2)
    for (std::size_t p = 0; p < half; ++p) group.part[p] += group.part[p + half];
  Integers lane;
  for (std::size_t l = 0; l < lanes; ++l) lane[l] = static_cast<std::int32_t>(l);
  Vector sum = group.part[0];
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    sum += __builtin_shuffle(sum, lane + static_cast<std::int32_t>(half));  // modulo lanes
  return sum[0];
}

/// Calls f(first row, rows) for each group.
template <class F>
void over_groups(std::size_t begin, std::size_t end, const F& f) {
  std::size_t r = begin;
  for (; r + group_rows <= end; r += group_rows) f(r, group_rows);
  if (r < end) f(r, end - r);
}

/// Calls f(begin, end) for ranges that float32 sums accurately.
template <class F>
void over_sums(std::size_t rows, const F& f) {
  for (std::size_t begin = 0; begin < rows; begin += rows_per_sum) f(begin, std::min(rows, begin + rows_per_sum));
}

/// One column of the values to quantise, u = x + residual.
template <bool remembers>
struct Column {
  std::size_t rows;
  const float* x;
  float* residual;

  Group at(std::size_t r, std::size_t count) const {
    Group u = load_group(x + r, count);
    if constexpr (remembers) {
      const Group before = load_group(residual + r, count);
      for (std::size_t p = 0; p < group_vectors; ++p) u.part[p] += before.part[p];
    }
    return u;
  }

  /// Prefetches a group that will be needed, in this column or beyond; invalid addresses do no harm.
  void prefetch(std::size_t r) const {
    for (std::size_t line = 0; line < group_rows; line += cache_line_bytes / sizeof(float)) {
      __builtin_prefetch(x + r + line);
      if constexpr (remembers) __builtin_prefetch(residual + r + line);
    }
  }
};

/// The codes of a group: `bits` words each. encode leaves the unsent remainder in u.
class TwoLevels {
 public:
  static constexpr std::size_t bits = 1, header = 4;
  static constexpr bool saturates = false;

  TwoLevels(const Quantiser&, const std::byte* from) {
    std::uint16_t levels[2];
    std::memcpy(levels, from, header);
    for (std::size_t bit = 0; bit < 2; ++bit) level_[bit] = broadcast(from_bfloat16(levels[bit]));
  }

  template <bool remembers>
  TwoLevels(const Column<remembers>& column, const Quantiser& quantiser, std::byte* to)
      : threshold_(broadcast(quantiser.threshold_at_mean ? mean_of(column) : 0.f)) {
    double sums[2] = {};
    std::size_t ones = 0;
    over_sums(column.rows, [&](std::size_t begin, std::size_t end) {
      Group below, above;
      over_groups(begin, end, [&](std::size_t r, std::size_t count) {
        const Group u = column.at(r, count);
        ones += static_cast<std::size_t>(std::popcount(bits_at_least(u) & used(count)));
        for (std::size_t p = 0; p < group_vectors; ++p) {
          below.part[p] += u.part[p] >= threshold_ ? Vector{} : u.part[p];
          above.part[p] += u.part[p] >= threshold_ ? u.part[p] : Vector{};
        }
      });
      sums[0] += static_cast<double>(sum_of(below));
      sums[1] += static_cast<double>(sum_of(above));
    });
    const std::size_t counts[2] = {column.rows - ones, ones};
    std::uint16_t levels[2];
    for (std::size_t bit = 0; bit < 2; ++bit) levels[bit] = to_bfloat16(mean_of_sum(sums[bit], counts[bit]));
    std::memcpy(to, levels, header);
    *this = TwoLevels(quantiser, to, threshold_);
  }

  void encode(Group& u, std::size_t count, std::byte* words) const {
    const std::uint32_t word = bits_at_least(u) & used(count);
    std::memcpy(words, &word, sizeof word);
    for (Vector& part : u.part) part -= part >= threshold_ ? level_[1] : level_[0];
  }

  Group decode(const std::byte* words) const {
    std::uint32_t word;
    std::memcpy(&word, words, sizeof word);
    Group group;
    for (std::size_t p = 0; p < group_vectors; ++p) group.part[p] = choose(word >> p * lanes, level_[0], level_[1]);
    return group;
  }

 private:
  TwoLevels(const Quantiser& quantiser, const std::byte* from, Vector threshold) : TwoLevels(quantiser, from) {
    threshold_ = threshold;
  }

  template <bool remembers>
  static float mean_of(const Column<remembers>& column) {
    double sum = 0;
    over_sums(column.rows, [&](std::size_t begin, std::size_t end) {
      Group sums;
      over_groups(begin, end, [&](std::size_t r, std::size_t count) {
        const Group u = column.at(r, count);
        for (std::size_t p = 0; p < group_vectors; ++p) sums.part[p] += u.part[p];
      });
      sum += static_cast<double>(sum_of(sums));
    });
    return mean_of_sum(sum, column.rows);
  }

  static std::uint32_t used(std::size_t count) { return ~std::uint32_t{0} >> (group_rows - count); }

  std::uint32_t bits_at_least(const Group& u) const {
    std::uint32_t word = 0;
    for (std::size_t p = 0; p < group_vectors; ++p) word |= cpu::bits_at_least(u.part[p], threshold_) << p * lanes;
    return word;
  }

  Vector threshold_{};
  Vector level_[2];
};

using LongsBytes = std::uint8_t __attribute__((vector_size(sizeof(Vector) / 8)));

/// The low `bits` bits of all lanes, concatenated at the low end.
template <std::size_t bits>
std::uint64_t squeezed(Integers codes) {
  static_assert(bits == 2 || bits == 4);
  Longs pairs = reinterpret_cast<Longs>(codes & ((1 << bits) - 1));
  pairs |= pairs >> (32 - bits);
  const LongsBytes bytes = __builtin_convertvector(pairs, LongsBytes);  // 2·bits of each in use
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes, sizeof bytes);
  if constexpr (bits == 4) return word;
  word = (word | word >> 4) & 0x00FF00FF00FF00FF;
  word = (word | word >> 8) & 0x0000FFFF0000FFFF;
  return (word | word >> 16) & 0xFFFFFFFF;
}

/// The inverse, with sign extension.
template <std::size_t bits>
Integers spread(std::uint64_t word) {
  Integers first_bit, left;
  for (std::size_t l = 0; l < lanes; ++l) {
    first_bit[l] = static_cast<std::int32_t>(l * bits);
    left[l] = static_cast<std::int32_t>(32 - bits - l * bits % 32);
  }
  const Integers low = Integers{} + static_cast<std::int32_t>(word),
                 high = Integers{} + static_cast<std::int32_t>(word >> 32);
  return ((first_bit < 32 ? low : high) << left) >> (32 - bits);
}

/// Codes of 2 or 4 bits of one vector; loaded, they are extended by their sign.
template <std::size_t bits>
void store_codes(Integers codes, std::byte* to) {
  const std::uint64_t word = squeezed<bits>(codes);
  std::memcpy(to, &word, lanes * bits / 8);
}
template <std::size_t bits>
Integers load_codes(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, lanes * bits / 8);
  return spread<bits>(word);
}

/// The largest |u|, as bits, among which NaN is the largest.
template <bool remembers>
float largest_of(const Column<remembers>& column) {
  Integers largest{};
  over_groups(0, column.rows, [&](std::size_t r, std::size_t count) {
    const Group u = column.at(r, count);
    for (const Vector part : u.part) {
      const Integers size = reinterpret_cast<Integers>(part) & 0x7FFFFFFF;
      largest = size > largest ? size : largest;
    }
  });
  std::int32_t bits_of_largest = 0;
  for (std::size_t l = 0; l < lanes; ++l) bits_of_largest = std::max<std::int32_t>(bits_of_largest, largest[l]);
  return std::bit_cast<float>(bits_of_largest);
}

template <std::size_t bits_>
class Multiples {
 public:
  static constexpr std::size_t bits = bits_, header = 4;
  static constexpr bool saturates = false;  // beyond its largest multiple an element is clamped by design

  Multiples(const Quantiser&, const std::byte* from) {
    float step;
    std::memcpy(&step, from, header);
    step_ = broadcast(step);
    inverse_ = broadcast(step == 0 ? 0.f : 1 / step);
  }

  template <bool remembers>
  Multiples(const Column<remembers>& column, const Quantiser& quantiser, std::byte* to) {
    float step =
        bits == 16 ? largest_of(column) / float{largest_multiple(bits)} : step_per_deviation(bits) * deviation_of(column);
    if (step < std::numeric_limits<float>::min()) step = 0;
    std::memcpy(to, &step, header);
    *this = Multiples(quantiser, to);
  }

  void encode(Group& u, std::size_t, std::byte* words) const {
    constexpr float limit = largest_multiple(bits);
    const Vector shift = broadcast(12582912.f);  // 1.5 · 2^23: adding it rounds to a whole number, in the low bits
    for (std::size_t p = 0; p < group_vectors; ++p) {
      Vector q = u.part[p] * inverse_;
      q = q < limit ? q : broadcast(limit);  // also for NaN, whose code is arbitrary
      q = q > -limit ? q : broadcast(-limit);
      const Vector shifted = q + shift;
      u.part[p] -= (shifted - shift) * step_;
      put(reinterpret_cast<Integers>(shifted) - 0x4B400000, words + p * part_bytes);
    }
  }

  Group decode(const std::byte* words) const {
    Group group;
    for (std::size_t p = 0; p < group_vectors; ++p)
      group.part[p] = __builtin_convertvector(get(words + p * part_bytes), Vector) * step_;
    return group;
  }

 private:
  static constexpr std::size_t part_bytes = lanes * bits / 8;
  using Narrow = std::conditional_t<bits == 16, Shorts, Bytes>;

  static void put(Integers codes, std::byte* to) {
    if constexpr (bits >= 8) {
      const Narrow narrow = __builtin_convertvector(codes, Narrow);
      std::memcpy(to, &narrow, part_bytes);
    } else {
      store_codes<bits>(codes, to);
    }
  }

  static Integers get(const std::byte* from) {
    if constexpr (bits >= 8) {
      Narrow narrow;
      std::memcpy(&narrow, from, part_bytes);
      if constexpr (bits == 8) return widened(narrow);
      return __builtin_convertvector(narrow, Integers);
    } else {
      return load_codes<bits>(from);
    }
  }

  template <bool remembers>
  static float deviation_of(const Column<remembers>& column) {
    double squares = 0;
    over_sums(column.rows, [&](std::size_t begin, std::size_t end) {
      Group sums;
      over_groups(begin, end, [&](std::size_t r, std::size_t count) {
        const Group u = column.at(r, count);
        for (std::size_t p = 0; p < group_vectors; ++p) sums.part[p] = multiply_add(u.part[p], u.part[p], sums.part[p]);
      });
      squares += static_cast<double>(sum_of(sums));
    });
    return column.rows == 0 ? 0 : static_cast<float>(std::sqrt(squares / static_cast<double>(column.rows)));
  }

  Vector step_, inverse_;
};

/// fp16 and bf16: each element separately.
template <Code code>
class ShortFloat {
 public:
  static constexpr std::size_t bits = 16, header = 0;
  static constexpr bool saturates = code == Code::fp16;

  ShortFloat(const Quantiser& quantiser, const std::byte*)
      : unit_(broadcast(quantiser.unit)), inverse_(broadcast(1 / quantiser.unit)) {}
  template <bool remembers>
  ShortFloat(const Column<remembers>&, const Quantiser& quantiser, const std::byte* to) : ShortFloat(quantiser, to) {}

  std::uint32_t saturated(const Group& u) const {
    const Vector limit = broadcast(largest_half) * unit_;
    Integers counts{};
    for (const Vector part : u.part) counts -= (part > limit) | (part < -limit);  // a comparison is 0 or -1
    std::uint32_t sum = 0;
    for (std::size_t l = 0; l < lanes; ++l) sum += static_cast<std::uint32_t>(counts[l]);
    return sum;
  }

  void encode(Group& u, std::size_t, std::byte* words) const {
    for (std::size_t p = 0; p < group_vectors; ++p) {
      const Shorts codes = shortened(u.part[p]);
      std::memcpy(words + p * sizeof codes, &codes, sizeof codes);
      u.part[p] -= widened(codes);
    }
  }

  Group decode(const std::byte* words) const {
    Group group;
    for (std::size_t p = 0; p < group_vectors; ++p) {
      Shorts codes;
      std::memcpy(&codes, words + p * sizeof codes, sizeof codes);
      group.part[p] = widened(codes);
    }
    return group;
  }

 private:
  Shorts shortened(Vector u) const {
    if constexpr (code == Code::fp16) {
      u *= inverse_;
      u = u > largest_half ? broadcast(largest_half) : u;
      return halves(u < -largest_half ? broadcast(-largest_half) : u);
    }
    const Words word = reinterpret_cast<Words>(u);
    const Words rounded = word + 0x7FFF + (word >> 16 & 1), quiet = word | 0x400000;
    return __builtin_convertvector((u != u ? quiet : rounded) >> 16, Shorts);
  }
  Vector widened(Shorts codes) const {
    if constexpr (code == Code::fp16) return from_halves(codes) * unit_;
    return reinterpret_cast<Vector>(__builtin_convertvector(codes, Integers) << 16);
  }

  Vector unit_, inverse_;
};

}  // namespace paragrad::backend::cpu
