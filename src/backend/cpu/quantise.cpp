#include <array>

#include "backend/cpu/bit_stream.hpp"
#include "backend/cpu/bodies.hpp"
#include "backend/cpu/codes.hpp"
#include "backend/cpu/level_codes.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr std::size_t rows_in_nearest_cache = 4096;  // two columns with their residuals: 64 kB
constexpr std::size_t bytes_in_cache = 4'000'000;    // larger data is evicted before it is read again

/// Position of a column in a packed matrix.
template <class Byte>
struct ColumnSlot {
  Byte* header;       // the column's
  Byte* codes;        // all columns'
  std::size_t begin;  // of this column's codes, in bits
};

template <class Byte, class Coder>
ColumnSlot<Byte> place_of(Byte* packed, std::size_t rows, std::size_t columns, std::size_t j) {
  return {packed + j * Coder::header, packed + columns * Coder::header, j * rows * Coder::bits};
}

/// A coder processes whole groups in whole words. Groups aligned to words in the stream are written and read in place,
/// others through a buffer.
bool is_in_place(std::size_t bit, std::size_t count) { return count == group_rows && bit % 32 == 0; }

template <class Coder>
using GroupBuffer = std::array<std::byte, 4 * Coder::bits>;

/// Returns how many elements saturate.
template <class Coder, bool remembers>
std::uint32_t quantise_column(const Column<remembers>& column, const Quantiser& quantiser,
                              const ColumnSlot<std::byte>& place) {
  const Coder coder(column, quantiser, place.header);
  std::uint32_t saturated = 0;
  const bool next_is_near = column.rows <= rows_in_nearest_cache;  // the column to be read from memory next
  over_groups(0, column.rows, [&](std::size_t r, std::size_t count) {
    Group u = column.at(r, count);
    if constexpr (Coder::saturates) saturated += coder.saturated(u);
    const std::size_t bit = place.begin + r * Coder::bits;
    if (is_in_place(bit, count)) {
      coder.encode(u, count, place.codes + bit / 8);
    } else {
      GroupBuffer<Coder> words;
      coder.encode(u, count, words.data());
      put_bits(place.codes, bit, words.data(), count * Coder::bits);
    }
    if constexpr (remembers) store_group(u, column.residual + r, count);
    if (next_is_near) column.prefetch(column.rows + r);
  });
  return saturated;
}

/// How x is updated: overwritten, overwritten with non-temporal stores, added to.
enum class Store { plain, past_cache, sum };

template <class Coder, Store how>
void dequantise_column(std::size_t rows, const Quantiser& quantiser, const ColumnSlot<const std::byte>& place, float* x) {
  const Coder coder(quantiser, place.header);
  over_groups(0, rows, [&](std::size_t r, std::size_t count) {
    const std::size_t bit = place.begin + r * Coder::bits;
    Group decoded;
    if (is_in_place(bit, count)) {
      decoded = coder.decode(place.codes + bit / 8);
    } else {
      GroupBuffer<Coder> words = {};
      get_bits(place.codes, bit, words.data(), count * Coder::bits);
      decoded = coder.decode(words.data());
    }
    if constexpr (how == Store::sum) {
      const Group before = load_group(x + r, count);
      for (std::size_t p = 0; p < group_vectors; ++p) decoded.part[p] += before.part[p];
    }
    if (how == Store::past_cache && count == group_rows)
      for (std::size_t p = 0; p < group_vectors; ++p) store_past_cache(decoded.part[p], x + r + p * lanes);
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
    case Code::bins2:
      return body.template operator()<Bins<Code::bins2>>();
    case Code::bins4:
      return body.template operator()<Bins<Code::bins4>>();
    case Code::e3m0:
      return body.template operator()<PowersOfTwo>();
  }
}

}  // namespace

// 32 rows at a time. A column that fits into the cache is read from memory once. bits16, fp16, bf16 and e3m0 have the
// reference's bytes. The levels and steps of the others are sums in another order and may differ by a rounding; the bits
// around the threshold 0 do not. Every instruction set adds up in the same order.
void run(Workspace&, const Quantise& kernel) {
  const auto& [quantiser, rows, columns, all_x, all_residual, packed, all_saturated] = kernel;
  const float* const x = all_x.data();
  float* const residual = all_residual.empty() ? nullptr : all_residual.data();
  std::uint32_t saturated = 0;
  with_coder(quantiser.code, [&]<class Coder>() {
    for (std::size_t j = 0; j < columns; ++j) {
      const auto to = place_of<std::byte, Coder>(packed.data(), rows, columns, j);
      if (residual)
        saturated += quantise_column<Coder>(Column<true>{rows, x + j * rows, residual + j * rows}, quantiser, to);
      else
        saturated += quantise_column<Coder>(Column<false>{rows, x + j * rows, nullptr}, quantiser, to);
    }
  });
  if (!all_saturated.empty()) all_saturated[0] += saturated;
}

void run(Workspace&, const Dequantise& kernel) {
  const auto& [quantiser, rows, columns, packed, keep, x] = kernel;
  const bool large = sizeof(float) * rows * columns > bytes_in_cache;
  with_coder(quantiser.code, [&]<class Coder>() {
    for (std::size_t j = 0; j < columns; ++j) {
      const auto from = place_of<const std::byte, Coder>(packed.data(), rows, columns, j);
      float* to = x.data() + j * rows;
      if (keep != 0)
        dequantise_column<Coder, Store::sum>(rows, quantiser, from, to);
      else if (large && is_aligned(to))
        dequantise_column<Coder, Store::past_cache>(rows, quantiser, from, to);
      else
        dequantise_column<Coder, Store::plain>(rows, quantiser, from, to);
    }
  });
  if (large) finish_past_cache();
}

}  // namespace paragrad::backend::cpu
