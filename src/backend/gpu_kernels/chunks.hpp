#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/gpu_kernels/quantise.hpp"
#include "backend/gpu_kernels/select.hpp"
#include "backend/kernels/chunks.hpp"
#include "backend/kernels/copy.hpp"

/// The largest elements of each chunk, see kernels/chunks.hpp: one kernel selects them into notes, the values are coded like
/// any column, others pack the places and return the errors.
namespace paragrad::backend::gpu_kernels {

/// What is kept, in device memory: [kept] each, chunk after chunk.
struct ChunkNotes {
  float* values;
  float* errors;
  std::uint32_t* places;  ///< in the whole array
  std::byte* quantiser;

  static ChunkNotes of(Scratch& scratch, const ChunkFormat& format, std::size_t kept) {
    ChunkNotes notes;
    notes.quantiser =
        reinterpret_cast<std::byte*>(scratch.take<double>(format.coded ? (quantise_scratch({format.code}, 1) + 7) / 8 : 0));
    notes.values = scratch.take<float>(kept);
    notes.errors = scratch.take<float>(kept);
    notes.places = scratch.take<std::uint32_t>(kept);
    return notes;
  }
};

/// Radix select of each chunk, whose elements a block counts by the bytes of their sizes, highest first: see select.hpp.
struct SelectInChunks {
  static constexpr const char* name = "encode_chunks: selection";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    std::uint32_t counts[threads];
    Counts before[threads];
    std::uint32_t limit, left;
  };

  ChunkFormat format;
  std::size_t count;
  const float* u;
  ChunkNotes notes;

  std::size_t blocks() const { return std::min<std::size_t>(blocks_for(count, format.chunk), 4096); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    for (std::size_t first = block.index * format.chunk; first < count; first += block.blocks * format.chunk) {
      const std::size_t length = std::min(format.chunk, count - first);
      find_limit(block, shared, u + first, length, static_cast<std::uint32_t>(format.kept_of(length)));
      write(block, shared, first, length);
    }
  }

 private:
  PARAGRAD_HOST_DEVICE static void find_limit(const Block& block, Shared& shared, const float* chunk, std::size_t length,
                                              std::uint32_t kept) {
    block.each([&](std::uint32_t thread) {
      if (thread == 0) shared.limit = 0, shared.left = kept;
    });
    for (std::uint32_t shift = 24; shift <= 24; shift -= 8) {  // below 0 it is large
      const std::uint32_t known = shift == 24 ? 0 : ~std::uint32_t{0} << (shift + 8), limit = shared.limit;
      block.each([&](std::uint32_t value) { shared.counts[value] = 0; });
      block.each_of(length, [&](std::size_t i) {
        const std::uint32_t size = size_bits(chunk[i]);
        if ((size & known) == limit) add_atomically(&shared.counts[size >> shift & 0xFF], 1);
      });
      const std::uint32_t left = shared.left;
      block.each([](std::uint32_t) {});  // until all have read it
      block.each([&](std::uint32_t value) {
        const std::uint32_t above = count_above(shared.counts, value);
        if (above >= left || left - above > shared.counts[value]) return;  // all but one
        shared.limit = limit | value << shift;
        shared.left = left - above;
      });
    }
  }

  PARAGRAD_HOST_DEVICE void write(const Block& block, Shared& shared, std::size_t first, std::size_t length) const {
    const std::uint32_t limit = shared.limit, left = shared.left;
    const auto over_mine = [&](std::uint32_t thread, Counts before, const auto& visit) {
      const Stretch mine = Stretch::of(length, thread, threads);
      for (std::size_t i = mine.begin; i < mine.end; ++i) {
        const Counts one = Counts::of(size_bits(u[first + i]), limit);
        if (one.larger > 0 || (one.equal > 0 && before.equal < left)) visit(i, before.larger + std::min(before.equal, left));
        before = before + one;
      }
      return before;
    };
    block.each([&](std::uint32_t thread) {
      shared.before[thread] = over_mine(thread, Counts{}, [](std::size_t, std::uint32_t) {});
    });
    scan(block, shared.before);
    const std::size_t begin = first / format.chunk * format.keep;
    block.each([&](std::uint32_t thread) {
      over_mine(thread, shared.before[thread], [&](std::size_t i, std::uint32_t place) {
        notes.values[begin + place] = u[first + i];
        notes.errors[begin + place] = 0;
        notes.places[begin + place] = static_cast<std::uint32_t>(first + i);
      });
    });
  }
};

/// A word of packed places.
struct PackPlaces {
  static constexpr const char* name = "encode_chunks: places";
  ChunkFormat format;
  std::size_t kept;
  const std::uint32_t* places;
  std::uint32_t* words;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t word) const {
    const std::size_t bits = format.place_bits(), first_bit = 32 * word;
    std::uint32_t packed = 0;
    for (std::size_t i = first_bit / bits; i < kept && i * bits < first_bit + 32; ++i) {
      const std::uint64_t place = places[i] % format.chunk;
      packed |= static_cast<std::uint32_t>(i * bits >= first_bit ? place << (i * bits - first_bit)
                                                                 : place >> (first_bit - i * bits));
    }
    words[word] = packed;
  }
};

struct ReturnErrors {
  static constexpr const char* name = "encode_chunks: errors";
  const std::uint32_t* places;
  const float* errors;
  float* residual;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { residual[places[i]] = errors[i]; }
};

/// A place outside its chunk is skipped, as a GPU cannot throw.
struct AddAtPlaces {
  static constexpr const char* name = "decode_chunks";
  ChunkFormat format;
  const std::uint32_t* values;  ///< packed
  const std::uint32_t* codes;   ///< of values in code
  const std::uint32_t* words;   ///< of places
  std::size_t count;
  float* x;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t bits = format.place_bits(), bit = i * bits;
    std::uint64_t word = words[bit / 32];
    if (bit % 32 + bits > 32) word |= std::uint64_t{words[bit / 32 + 1]} << 32;
    const std::size_t place = word >> (bit % 32) & ((std::uint64_t{1} << bits) - 1);
    const std::size_t at = i / format.keep * format.chunk + place;
    if (place < format.chunk && at < count) x[at] += value(i);
  }

 private:
  PARAGRAD_HOST_DEVICE float value(std::size_t i) const {
    if (!format.coded) return std::bit_cast<float>(values[i]);
    const std::size_t bits = bits_of(format.code);
    return decode(format.code, values, codes[i * bits / 32] >> (i * bits % 32) & ((1u << bits) - 1));
  }
};

// ---- bodies ----

/// Bytes.
inline std::size_t encode_chunks_scratch(const ChunkFormat& format, std::size_t count) {
  Scratch scratch;
  ChunkNotes::of(scratch, format, format.kept(count));
  return scratch.bytes();
}

/// backend::EncodeChunks; null without residual. scratch: encode_chunks_scratch() bytes.
template <class Run>
void encode_chunks(const Run& run, const ChunkFormat& format, std::size_t count, const float* x, float* residual,
                   std::byte* packed, std::byte* scratch) {
  if (residual != nullptr) run(elements_of(Add{{x, count}, {residual, count}}));
  const std::size_t kept = format.kept(count), value_bytes = format.value_bytes(count);
  Scratch memory(scratch);
  const ChunkNotes notes = ChunkNotes::of(memory, format, kept);
  run(SelectInChunks{format, count, residual != nullptr ? residual : x, notes});
  if (format.coded)
    quantise(run, {format.code}, kept, 1, notes.values, notes.errors, packed, nullptr, notes.quantiser);
  else
    run(elements_of(Copy{{notes.values, kept}, {reinterpret_cast<float*>(packed), kept}}));
  run(Stream<PackPlaces>{(format.packed_bytes(count) - value_bytes) / 4,
                         {format, kept, notes.places, reinterpret_cast<std::uint32_t*>(packed + value_bytes)}});
  if (residual != nullptr) run(Stream<ReturnErrors>{kept, {notes.places, notes.errors, residual}});
}

template <class Run>
void decode_chunks(const Run& run, const ChunkFormat& format, const std::byte* packed, float keep, std::size_t count,
                   float* x) {
  if (keep == 0) run(elements_of(Fill{0, {x, count}}));
  const auto* const values = reinterpret_cast<const std::uint32_t*>(packed);
  const std::size_t header = format.coded ? header_bytes(format.code) / 4 : 0;
  run(Stream<AddAtPlaces>{format.kept(count),
                          {format, values, values + header, values + format.value_bytes(count) / 4, count, x}});
}

void run(auto& gpu, const EncodeChunks& kernel) {
  const std::size_t count = kernel.x.size();
  if (count == 0) return;
  auto* const notes = gpu.template scratch<std::byte>("encode_chunks", encode_chunks_scratch(kernel.format, count));
  encode_chunks(gpu.runner(), kernel.format, count, kernel.x.data(), data_of(kernel.residual), kernel.packed.data(), notes);
}

void run(auto& gpu, const DecodeChunks& kernel) {
  if (!kernel.x.empty())
    decode_chunks(gpu.runner(), kernel.format, kernel.packed.data(), kernel.keep, kernel.x.size(), kernel.x.data());
}

}  // namespace paragrad::backend::gpu_kernels
