#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/code_formulas.hpp"
#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/gpu_kernels/scratch.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/select.hpp"

/// Selection of the largest elements by radix select. Absolute values |u| are compared as bits: four passes over u histogram
/// their bytes, highest first, which gives the smallest absolute value to keep and how many elements of it. Two more passes
/// count the kept elements of each chunk of u and write them at their offsets. The host is not involved.
namespace paragrad::backend::gpu_kernels {

/// The layout in packed memory, which is aligned to 4 bytes.
struct Pair {
  std::uint32_t index;
  float value;
};

/// Elements above the smallest size that is kept, and of that size.
struct Counts {
  std::uint32_t larger, equal;

  PARAGRAD_HOST_DEVICE static Counts of(std::uint32_t size, std::uint32_t limit) { return {size > limit, size == limit}; }
  PARAGRAD_HOST_DEVICE Counts operator+(Counts other) const { return {larger + other.larger, equal + other.equal}; }
};

/// The state of the search, in device memory.
struct Selection {
  static constexpr std::uint32_t passes = 4, bytes = 256;  // values of a byte
  static constexpr std::size_t chunk = 4096;

  std::size_t count;          ///< elements of u
  const float* u;             ///< [count]
  std::uint32_t* histograms;  ///< [passes][bytes]
  std::uint32_t* limit;       ///< the absolute value sought, as far as known: its first bytes
  std::uint32_t* left;        ///< number of elements to keep among those starting with these bytes
  Counts* chunks;             ///< [chunks()], finally prefix sums over the chunks

  std::size_t chunk_count() const { return blocks_for(count, chunk); }
  PARAGRAD_HOST_DEVICE std::size_t length_of(std::size_t chunk_index) const {
    return std::min(std::size_t{chunk}, count - chunk_index * chunk);
  }
};

struct BeginSelection {
  static constexpr const char* name = "select_largest: begin";
  Selection selection;
  std::uint32_t keep;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    selection.histograms[i] = 0;
    if (i > 0) return;
    *selection.limit = 0;
    *selection.left = keep;
  }
};

/// Histogram of the next byte over all absolute values that share the known first bytes.
struct CountBytes {
  static constexpr const char* name = "select_largest: histogram";
  static constexpr std::uint32_t threads = 256;
  static constexpr std::uint32_t copies =
      8;  // values are similar; with copies, neighbouring threads rarely add to the same counter
  struct Shared {
    std::uint32_t counts[Selection::bytes * copies];
  };

  Selection selection;
  std::uint32_t pass;

  std::size_t blocks() const { return std::min<std::size_t>(blocks_for(selection.count, 32 * threads), 1024); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::uint32_t shift = 24 - 8 * pass, known = pass == 0 ? 0 : ~std::uint32_t{0} << (shift + 8);
    const std::uint32_t limit = *selection.limit;
    block.each_of(Selection::bytes * copies, [&](std::size_t i) { shared.counts[i] = 0; });
    block.each([&](std::uint32_t thread) {
      const std::size_t step = std::size_t{block.blocks} * threads;
      for (std::size_t i = std::size_t{block.index} * threads + thread; i < selection.count; i += step) {
        const std::uint32_t size = size_bits(selection.u[i]);
        if ((size & known) == limit) add_atomically(&shared.counts[(size >> shift & 0xFF) * copies + thread % copies], 1);
      }
    });
    block.each_of(Selection::bytes, [&](std::size_t value) {
      std::uint32_t sum = 0;
      for (std::uint32_t copy = 0; copy < copies; ++copy) sum += shared.counts[value * copies + copy];
      if (sum > 0) add_atomically(&selection.histograms[pass * Selection::bytes + value], sum);
    });
  }
};

/// How many have a larger byte than this one. counts: of each byte.
PARAGRAD_HOST_DEVICE inline std::uint32_t count_above(const std::uint32_t* counts, std::uint32_t byte) {
  std::uint32_t above = 0;
  for (std::uint32_t larger = byte + 1; larger < Selection::bytes; ++larger) above += counts[larger];
  return above;
}

/// Determines the next byte of the absolute value sought.
struct ChooseByte {
  static constexpr const char* name = "select_largest: choice";
  static constexpr std::uint32_t threads = Selection::bytes;
  struct Shared {
    std::uint32_t counts[threads];
    std::uint32_t left;
  };

  Selection selection;
  std::uint32_t pass;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    block.each([&](std::uint32_t value) {
      shared.counts[value] = selection.histograms[pass * Selection::bytes + value];
      if (value == 0) shared.left = *selection.left;
    });
    block.each([&](std::uint32_t value) {
      const std::uint32_t above = count_above(shared.counts, value);
      if (above >= shared.left || shared.left - above > shared.counts[value]) return;  // all but one
      *selection.limit |= value << (24 - 8 * pass);
      *selection.left = shared.left - above;
    });
  }
};

struct CountChunks {
  static constexpr const char* name = "select_largest: chunks";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    Counts counts[threads];
  };

  Selection selection;

  std::size_t blocks() const { return selection.chunk_count(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const float* u = selection.u + block.index * Selection::chunk;
    const std::uint32_t limit = *selection.limit;
    const auto term = [&](std::size_t i) { return Counts::of(size_bits(u[i]), limit); };
    const Counts all = reduce(block, selection.length_of(block.index), Counts{}, shared.counts, term, Sum{});
    block.each([&](std::uint32_t thread) {
      if (thread == 0) selection.chunks[block.index] = all;
    });
  }
};

struct ScanChunks {
  static constexpr const char* name = "select_largest: scan";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    Counts sums[threads];
  };

  Selection selection;
  std::size_t chunks;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    scan_array(block, chunks, selection.chunks, shared.sums);
  }
};

/// Writes the pairs, in the order of the elements. A block reads a chunk with adjacent accesses, but writes it in ranges,
/// one per thread.
struct WriteChunks {
  static constexpr const char* name = "select_largest: pairs";
  static constexpr std::uint32_t threads = 256;
  enum Mark : std::uint8_t { smaller, equal, larger };
  struct Shared {
    Mark marks[Selection::chunk];
    Counts before[threads];
  };

  Selection selection;
  float* residual;  ///< u with kept elements set to 0; or null
  Pair* pairs;

  std::size_t blocks() const { return selection.chunk_count(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::size_t first = block.index * Selection::chunk, length = selection.length_of(block.index);
    const std::uint32_t limit = *selection.limit, left = *selection.left;
    block.each_of(length, [&](std::size_t i) {
      const std::uint32_t size = size_bits(selection.u[first + i]);
      shared.marks[i] = size > limit ? larger : size == limit ? equal : smaller;
    });
    const auto over_marks = [&](std::uint32_t thread, Counts before, const auto& visit) {
      const Stretch mine = Stretch::of(length, thread, threads);
      for (std::size_t i = mine.begin; i < mine.end; ++i) {
        visit(i, before);
        before = before + Counts{shared.marks[i] == larger, shared.marks[i] == equal};
      }
      return before;
    };
    block.each([&](std::uint32_t thread) {
      shared.before[thread] = over_marks(thread, Counts{}, [](std::size_t, const Counts&) {});
    });
    scan(block, shared.before);
    block.each([&](std::uint32_t thread) {
      over_marks(thread, selection.chunks[block.index] + shared.before[thread], [&](std::size_t i, const Counts& before) {
        const bool kept = shared.marks[i] == larger || (shared.marks[i] == equal && before.equal < left);
        if (kept) keep(first + i, before.larger + std::min(before.equal, left));
      });
    });
  }

 private:
  PARAGRAD_HOST_DEVICE void keep(std::size_t i, std::uint32_t place) const {
    pairs[place] = {static_cast<std::uint32_t>(i), selection.u[i]};
    if (residual != nullptr) residual[i] = 0;
  }
};

inline Selection selection_notes(Scratch& scratch, std::size_t count, const float* u) {
  Selection selection{count, u, nullptr, nullptr, nullptr, nullptr};
  selection.histograms = scratch.take<std::uint32_t>(Selection::passes * Selection::bytes);
  selection.limit = scratch.take<std::uint32_t>(1);
  selection.left = scratch.take<std::uint32_t>(1);
  selection.chunks = scratch.take<Counts>(selection.chunk_count());
  return selection;
}

/// Bytes.
inline std::size_t select_scratch(std::size_t count) {
  Scratch scratch;
  selection_notes(scratch, count, nullptr);
  return scratch.bytes();
}

/// backend::SelectLargest; null without residual. scratch: select_scratch() bytes.
template <class Run>
void select_largest(const Run& run, std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed,
                    std::byte* scratch) {
  if (residual != nullptr) run(elements_of(Add{{x, count}, {residual, count}}));
  if (keep == 0) return;
  Scratch memory(scratch);
  const Selection selection = selection_notes(memory, count, residual != nullptr ? residual : x);
  run(Stream<BeginSelection>{Selection::passes * Selection::bytes, {selection, static_cast<std::uint32_t>(keep)}});
  for (std::uint32_t pass = 0; pass < Selection::passes; ++pass) {
    run(CountBytes{selection, pass});
    run(ChooseByte{selection, pass});
  }
  run(CountChunks{selection});
  run(ScanChunks{selection, selection.chunk_count()});
  run(WriteChunks{selection, residual, reinterpret_cast<Pair*>(packed)});
}

/// A pair with an index out of range is skipped, as a GPU cannot throw.
struct AddPairs {
  static constexpr const char* name = "scatter_add";
  const Pair* pairs;
  std::size_t count;
  float* x;

  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    if (pairs[i].index < count) x[pairs[i].index] += pairs[i].value;
  }
};

/// backend::ScatterAdd: indices must not repeat.
template <class Run>
void scatter_add(const Run& run, std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) {
  if (keep == 0) run(elements_of(Fill{0, {x, count}}));
  run(Stream<AddPairs>{pairs, {reinterpret_cast<const Pair*>(packed), count, x}});
}

// ---- bodies ----

void run(auto& gpu, const SelectLargest& kernel) {
  const std::size_t count = kernel.x.size();
  if (count == 0) return;
  auto* const notes = gpu.template scratch<std::byte>("select", select_scratch(count));
  select_largest(gpu.runner(), kernel.keep, count, kernel.x.data(), data_of(kernel.residual), kernel.packed.data(), notes);
}

void run(auto& gpu, const ScatterAdd& kernel) {
  if (!kernel.x.empty())
    scatter_add(gpu.runner(), kernel.pairs(), kernel.packed.data(), kernel.keep, kernel.x.size(), kernel.x.data());
}

}  // namespace paragrad::backend::gpu_kernels
