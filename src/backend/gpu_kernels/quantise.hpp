#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/code_formulas.hpp"
#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/gpu_kernels/scratch.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/quantise.hpp"
#include "backend/quantiser.hpp"

/// The codes of backend/quantiser.hpp: one kernel computes the headers, a second one packs. Packed memory is aligned to 4
/// bytes.
namespace paragrad::backend::gpu_kernels {

/// A packed matrix.
template <class Word>
struct PackedOf {
  Quantiser quantiser;
  std::size_t rows, columns;
  Word* words;

  PARAGRAD_HOST_DEVICE std::size_t bits() const { return bits_of(quantiser.code); }
  PARAGRAD_HOST_DEVICE std::size_t header_words() const { return header_bytes(quantiser.code) / 4; }
  PARAGRAD_HOST_DEVICE std::size_t elements() const { return rows * columns; }
  PARAGRAD_HOST_DEVICE Word* header_of(std::size_t column) const { return words + column * header_words(); }
  PARAGRAD_HOST_DEVICE Word* codes() const { return header_of(columns); }
  PARAGRAD_HOST_DEVICE std::size_t code_words() const { return (elements() * bits() + 31) / 32; }
};

/// The values to quantise, u = x + residual, [columns][rows]. Without residual: null.
struct Unsent {
  const float* x;
  float* residual;

  PARAGRAD_HOST_DEVICE float at(std::size_t i) const { return residual == nullptr ? x[i] : x[i] + residual[i]; }
};

/// Σ u and Σ u², or a sum and the number of its terms.
struct Moments {
  double sum, other;

  PARAGRAD_HOST_DEVICE Moments operator+(const Moments& more) const { return {sum + more.sum, other + more.other}; }
};

/// The elements on both sides of a threshold.
struct Sides {
  double below, above;
  std::size_t count_above;

  PARAGRAD_HOST_DEVICE Sides operator+(const Sides& other) const {
    return {below + other.below, above + other.above, count_above + other.count_above};
  }
};

/// The headers, and the scales of codes that are not made from the header alone. One block per column.
struct FindHeaders {
  static constexpr const char* name = "quantise: headers";
  static constexpr std::uint32_t threads = 256;
  union Shared {  // a column needs one at a time
    double sums[threads];
    Sides sides[threads];
    Moments moments[threads];
    std::uint32_t sizes[threads];
  };

  PackedOf<std::uint32_t> packed;
  Unsent u;
  CodeScale* scales;  ///< [columns], or null

  std::size_t blocks() const { return std::clamp<std::size_t>(packed.columns, 1, 4096); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    for (std::size_t column = block.index; column < packed.columns; column += block.blocks) {
      const CodeScale scale = scale_of(block, shared, column);
      block.each([&](std::uint32_t thread) {
        if (thread != 0) return;
        if (!has_bins(packed.quantiser.code)) *packed.header_of(column) = scale.header;
        if (scales != nullptr) scales[column] = scale;
      });
      if (has_bins(packed.quantiser.code)) find_means(block, shared, column, scale);
    }
  }

 private:
  PARAGRAD_HOST_DEVICE CodeScale scale_of(const Block& block, Shared& shared, std::size_t column) const {
    const Code code = packed.quantiser.code;
    const std::size_t rows = packed.rows, first = column * rows;
    const auto value = [&](std::size_t row) { return static_cast<double>(u.at(first + row)); };
    if (code == Code::bits1) {
      float threshold = 0;
      if (packed.quantiser.threshold_at_mean)
        threshold = mean_of_sum(reduce(block, rows, 0.0, shared.sums, value, Sum{}), rows);
      return two_levels(block, shared, first, threshold);
    }
    if (code == Code::bits16 || code == Code::e3m0) {
      const auto size = [&](std::size_t row) { return size_bits(u.at(first + row)); };
      const std::uint32_t largest = reduce(block, rows, std::uint32_t{0}, shared.sizes, size, Largest{});
      return {0, code == Code::e3m0 ? header_of_step(std::bit_cast<float>(largest)) : header_of_largest(largest)};
    }
    if (has_bins(code)) {
      const auto moments = [&](std::size_t row) { return Moments{value(row), value(row) * value(row)}; };
      const Moments all = reduce(block, rows, Moments{}, shared.moments, moments, Sum{});
      return scale_of_bins(code, all.sum, all.other, rows);
    }
    const auto square = [&](std::size_t row) {
      const double number = value(row);
      return number * number;
    };
    return {0, header_of_squares(code, reduce(block, rows, 0.0, shared.sums, square, Sum{}), rows)};
  }

  PARAGRAD_HOST_DEVICE void find_means(const Block& block, Shared& shared, std::size_t column,
                                       const CodeScale& scale) const {
    const std::size_t first = column * packed.rows;
    for (std::uint32_t bin = 0; bin < packed.header_words(); ++bin) {
      const auto member = [&](std::size_t row) {
        const float value = u.at(first + row);
        return bin_of(packed.quantiser.code, scale, value) == bin ? Moments{value, 1} : Moments{};
      };
      const Moments members = reduce(block, packed.rows, Moments{}, shared.moments, member, Sum{});
      block.each([&](std::uint32_t thread) {
        if (thread != 0) return;
        const float mean = mean_of_sum(members.sum, static_cast<std::size_t>(members.other));
        packed.header_of(column)[bin] = std::bit_cast<std::uint32_t>(mean);
      });
    }
  }

  PARAGRAD_HOST_DEVICE CodeScale two_levels(const Block& block, Shared& shared, std::size_t first, float threshold) const {
    const auto side = [&](std::size_t row) {
      const float value = u.at(first + row);
      return value >= threshold ? Sides{0, value, 1} : Sides{value, 0, 0};
    };
    const Sides sides = reduce(block, packed.rows, Sides{}, shared.sides, side, Sum{});
    const float level_0 = mean_of_sum(sides.below, packed.rows - sides.count_above);
    return {threshold, header_of_levels(level_0, mean_of_sum(sides.above, sides.count_above))};
  }
};

/// The codes and the remaining residual. A block produces as many words at a time as it has threads: the threads read
/// adjacent elements, share their codes within the block, and assemble one word each.
struct PackCodes {
  static constexpr const char* name = "quantise: codes";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    std::uint16_t codes[32 * threads];
  };

  PackedOf<std::uint32_t> packed;
  Unsent u;
  const CodeScale* scales;
  std::uint32_t* saturated;  ///< or null

  std::size_t blocks() const { return std::min<std::size_t>(blocks_for(packed.code_words(), threads), 4096); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::size_t per_word = 32 / packed.bits(), words = packed.code_words();
    for (std::size_t first = std::size_t{block.index} * threads; first < words;
         first += std::size_t{block.blocks} * threads) {
      block.each_of(threads * per_word, [&](std::size_t i) {
        const std::size_t element = first * per_word + i;
        shared.codes[i] = element < packed.elements() ? code_of(element) : std::uint16_t{0};
      });
      block.each([&](std::uint32_t thread) {
        if (first + thread < words)
          packed.codes()[first + thread] = word_of(shared.codes + thread * per_word, per_word, thread);
      });
    }
  }

 private:
  PARAGRAD_HOST_DEVICE std::uint16_t code_of(std::size_t element) const {
    const Code code = packed.quantiser.code;
    CodeScale scale{0, header_of_unit(packed.quantiser)};
    const std::uint32_t* header = &scale.header;
    if (packed.header_words() > 0) {
      const std::size_t column = element / packed.rows;
      header = packed.header_of(column);
      scale = scales != nullptr ? scales[column] : CodeScale{0, *header};
    }
    const float value = u.at(element);
    if (saturated != nullptr && saturates(packed.quantiser, value)) add_atomically(saturated, 1);
    const std::uint32_t coded = encode(code, scale, value);
    if (u.residual != nullptr) u.residual[element] = value - decode(code, header, coded);
    return static_cast<std::uint16_t>(coded);
  }

  /// Each thread starts with a different code, to avoid bank conflicts in shared memory.
  PARAGRAD_HOST_DEVICE std::uint32_t word_of(const std::uint16_t* codes, std::size_t per_word, std::uint32_t thread) const {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < per_word; ++k) {
      const std::size_t place = (thread + k) % per_word;
      word |= std::uint32_t{codes[place]} << (place * packed.bits());
    }
    return word;
  }
};

/// x[i] = keep·x[i] + decoded
struct DecodeElement {
  static constexpr const char* name = "dequantise";
  PackedOf<const std::uint32_t> packed;
  float keep;
  float* x;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t bits = packed.bits();
    const std::uint32_t unit = header_of_unit(packed.quantiser);
    const std::uint32_t* header = packed.header_words() > 0 ? packed.header_of(i / packed.rows) : &unit;
    const std::uint32_t coded = packed.codes()[i * bits / 32] >> (i * bits % 32) & ((1u << bits) - 1);
    x[i] = accumulate(decode(packed.quantiser.code, header, coded), keep, x[i]);
  }
};

inline CodeScale* quantise_notes(Scratch& scratch, const Quantiser& quantiser, std::size_t columns) {
  const bool needed = has_bins(quantiser.code) || (quantiser.code == Code::bits1 && quantiser.threshold_at_mean);
  return needed ? scratch.take<CodeScale>(columns) : nullptr;
}

/// Bytes, possibly 0.
inline std::size_t quantise_scratch(const Quantiser& quantiser, std::size_t columns) {
  Scratch scratch;
  quantise_notes(scratch, quantiser, columns);
  return scratch.bytes();
}

/// backend::Quantise; null without residual or count. scratch: quantise_scratch() bytes.
template <class Run>
void quantise(const Run& run, const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x,
              float* residual, std::byte* packed, std::uint32_t* saturated, std::byte* scratch) {
  Scratch memory(scratch);
  CodeScale* const scales = quantise_notes(memory, quantiser, columns);
  const PackedOf<std::uint32_t> to{quantiser, rows, columns, reinterpret_cast<std::uint32_t*>(packed)};
  if (to.header_words() > 0) run(FindHeaders{to, {x, residual}, scales});
  run(PackCodes{to, {x, residual}, scales, saturated});
}

template <class Run>
void dequantise(const Run& run, const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed,
                float keep, float* x) {
  const PackedOf<const std::uint32_t> from{quantiser, rows, columns, reinterpret_cast<const std::uint32_t*>(packed)};
  run(Stream<DecodeElement>{rows * columns, {from, keep, x}});
}

// ---- bodies ----

void run(auto& gpu, const Quantise& kernel) {
  const auto& [quantiser, rows, columns, x, residual, packed, saturated] = kernel;
  if (rows * columns == 0) return;
  auto* const notes = gpu.template scratch<std::byte>("quantise", quantise_scratch(quantiser, columns));
  quantise(gpu.runner(), quantiser, rows, columns, x.data(), data_of(residual), packed.data(), data_of(saturated), notes);
}

void run(auto& gpu, const Dequantise& kernel) {
  const auto& [quantiser, rows, columns, packed, keep, x] = kernel;
  if (rows * columns > 0) dequantise(gpu.runner(), quantiser, rows, columns, packed.data(), keep, x.data());
}

}  // namespace paragrad::backend::gpu_kernels
