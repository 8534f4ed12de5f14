#include "backend/cpu/quantise.hpp"

#include <cstring>

#include "backend/cpu/codes.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr std::size_t rows_in_nearest_cache = 4096;  // two columns with their residuals: 64 kB
constexpr std::size_t bytes_in_cache = 4'000'000;    // what is larger is gone before it is looked at again

/// Of the words of `count` <= 32 rows. Those of a short last group pass through a buffer, as coders know whole ones.
template <class Coder>
constexpr std::size_t word_bytes(std::size_t count) {
  return 4 * ((count * Coder::bits + 31) / 32);
}

template <class Coder, bool remembers>
void quantise_column(const Column<remembers>& column, bool threshold_at_mean, std::byte* packed) {
  const Coder coder(column, threshold_at_mean, packed);
  std::byte* words = packed + Coder::header;
  const bool next_is_near = column.rows <= rows_in_nearest_cache;  // the column to be read from memory next
  over_groups(0, column.rows, [&](std::size_t r, std::size_t count) {
    Group u = column.at(r, count);
    std::byte* to = words + r / group_rows * word_bytes<Coder>(group_rows);
    if (count == group_rows) {
      coder.encode(u, count, to);
    } else {
      std::byte whole[word_bytes<Coder>(group_rows)];
      coder.encode(u, count, whole);
      std::memcpy(to, whole, word_bytes<Coder>(count));
    }
    if constexpr (remembers) store_group(u, column.residual + r, count);
    if (next_is_near) column.prefetch(column.rows + r);
  });
}

/// What becomes of x: overwritten, overwritten past the cache, added to.
enum class Store { plain, past_cache, sum };

template <class Coder, Store how>
void dequantise_column(std::size_t rows, const std::byte* packed, float* x) {
  const Coder coder(packed);
  const std::byte* words = packed + Coder::header;
  over_groups(0, rows, [&](std::size_t r, std::size_t count) {
    const std::byte* from = words + r / group_rows * word_bytes<Coder>(group_rows);
    std::byte whole[word_bytes<Coder>(group_rows)] = {};
    if (count < group_rows) from = static_cast<std::byte*>(std::memcpy(whole, from, word_bytes<Coder>(count)));
    Group decoded = coder.decode(from);
    if constexpr (how == Store::sum) {
      const Group before = load_group(x + r, count);
      for (std::size_t p = 0; p < parts; ++p) decoded.part[p] += before.part[p];
    }
    if (how == Store::past_cache && count == group_rows)
      for (std::size_t p = 0; p < parts; ++p) store_past_cache(decoded.part[p], x + r + p * lanes);
    else
      store_group(decoded, x + r, count);
  });
}

/// Calls `with.template operator()<Coder>()`.
template <class Body>
void with_coder(Code code, const Body& body) {
  switch (code) {
    case Code::bits1:
      return body.template operator()<TwoLevels>();
    case Code::bits2:
      return body.template operator()<Multiples<2>>();
    case Code::bits4:
      return body.template operator()<Multiples<4>>();
    case Code::bits8:
      return body.template operator()<Multiples<8>>();
    case Code::bits16:
      return body.template operator()<Multiples<16>>();
    case Code::fp16:
      return body.template operator()<ShortFloat<Code::fp16>>();
    case Code::bf16:
      return body.template operator()<ShortFloat<Code::bf16>>();
  }
}

}  // namespace

void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
              std::byte* packed) {
  const std::size_t column_bytes = quantiser.column_bytes(rows);
  with_coder(quantiser.code, [&]<class Coder>() {
    for (std::size_t j = 0; j < columns; ++j) {
      std::byte* to = packed + j * column_bytes;
      if (residual)
        quantise_column<Coder>(Column<true>{rows, x + j * rows, residual + j * rows}, quantiser.threshold_at_mean, to);
      else
        quantise_column<Coder>(Column<false>{rows, x + j * rows, nullptr}, quantiser.threshold_at_mean, to);
    }
  });
}

void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                float* x) {
  const std::size_t column_bytes = quantiser.column_bytes(rows);
  const bool large = sizeof(float) * rows * columns > bytes_in_cache;
  with_coder(quantiser.code, [&]<class Coder>() {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::byte* from = packed + j * column_bytes;
      float* to = x + j * rows;
      if (keep != 0)
        dequantise_column<Coder, Store::sum>(rows, from, to);
      else if (large && is_aligned(to))
        dequantise_column<Coder, Store::past_cache>(rows, from, to);
      else
        dequantise_column<Coder, Store::plain>(rows, from, to);
    }
  });
  if (large) finish_past_cache();
}

}  // namespace paragrad::backend::cpu
