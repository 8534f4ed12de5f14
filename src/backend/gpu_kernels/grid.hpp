#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/host_device.hpp"

/// Kernels for a grid of thread blocks, written once: they run on a GPU and, thread by thread, on the host, where tests
/// compare them with the reference.
///
///   struct Kernel {
///     static constexpr const char* name = "…";         // for errors
///     static constexpr std::uint32_t threads = 256;    // of a block, a power of two
///     struct Shared { … };                             // memory of a block, not initialised; at most 48 KiB
///     std::size_t blocks() const;                      // at least 1
///     PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const;
///   };
///
/// Results must not depend on the order of blocks or on the order of threads within a phase.
namespace paragrad::backend::gpu_kernels {

/// A block as its kernel sees it: a sequence of phases, each executed by all threads. All threads of the block see in the
/// next phase what one phase wrote to shared memory or to the arrays. Otherwise only values that are equal for all threads
/// persist between phases.
struct Block {
  std::uint32_t index;     ///< among the blocks
  std::uint32_t blocks;    ///< of the grid
  std::uint32_t threads;   ///< of a block
  bool backwards = false;  ///< on the host: run the last thread first, which must make no difference

  /// Runs phase(thread) for each thread. All threads must reach this: never call it under a thread-dependent condition.
  template <class Phase>
  PARAGRAD_HOST_DEVICE void each(const Phase& phase) const {
#ifdef __CUDA_ARCH__
    phase(static_cast<std::uint32_t>(threadIdx.x));
    __syncthreads();
#else
    for (std::uint32_t i = 0; i < threads; ++i) phase(backwards ? threads - 1 - i : i);
#endif
  }

  /// Runs phase(i) for each i below count, spread over the threads.
  template <class Phase>
  PARAGRAD_HOST_DEVICE void each_of(std::size_t count, const Phase& phase) const {
    each([&](std::uint32_t thread) {
      for (std::size_t i = thread; i < count; i += threads) phase(i);
    });
  }

  /// values[0] = the combination of values[0 … threads), in an order that depends on `threads` alone. Overwrites the others.
  template <class T, class Combine>
  PARAGRAD_HOST_DEVICE void combine(T* values, const Combine& two) const {
    for (std::uint32_t half = threads / 2; half > 0; half /= 2)
      each([&](std::uint32_t thread) {
        if (thread < half) values[thread] = two(values[thread], values[thread + half]);
      });
  }
};

/// *where += value, from many threads at once. For integers, whose sum does not depend on the order.
PARAGRAD_HOST_DEVICE inline void add_atomically(std::uint32_t* where, std::uint32_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(where, value);
#else
  *where += value;
#endif
}

constexpr std::size_t blocks_for(std::size_t count, std::size_t per_block) {
  return std::max<std::size_t>(1, (count + per_block - 1) / per_block);
}

struct Nothing {};

/// Visits begin, begin + step, … below end in order: by group(i) for the next `many` of them, of which i is the first, while
/// `many` are left, then by one(i).
template <std::size_t many, class Group, class One>
PARAGRAD_HOST_DEVICE void in_groups(std::size_t begin, std::size_t end, std::size_t step, const Group& group,
                                    const One& one) {
  std::size_t i = begin;
  for (; i + (many - 1) * step < end; i += many * step) group(i);
  for (; i < end; i += step) one(i);
}

/// sum += term(load(i)) for i = begin, begin + step, … below end, in order. The loads of a group come before its terms, so
/// that they overlap.
template <class Sum, class Load, class Term>
PARAGRAD_HOST_DEVICE void add_in_groups(Sum& sum, std::size_t begin, std::size_t end, std::size_t step, const Load& load,
                                        const Term& term) {
  constexpr std::size_t many = 8;
  in_groups<many>(
      begin, end, step,
      [&](std::size_t i) {
        decltype(load(i)) loaded[many];
        for (std::size_t k = 0; k < many; ++k) loaded[k] = load(i + k * step);
        for (std::size_t k = 0; k < many; ++k) sum += term(loaded[k]);
      },
      [&](std::size_t i) { sum += term(load(i)); });
}

/// write(i, value(i)) for i = begin, begin + step, … below end. Computes four values before it writes the first, so that
/// their loads overlap. value(i) may read element i of what is written, but no other.
template <class Value, class Write>
PARAGRAD_HOST_DEVICE void write_in_fours(std::size_t begin, std::size_t end, std::size_t step, const Value& value,
                                         const Write& write) {
  constexpr std::size_t many = 4;
  in_groups<many>(
      begin, end, step,
      [&](std::size_t i) {
        decltype(value(i)) values[many];
        for (std::size_t k = 0; k < many; ++k) values[k] = value(i + k * step);
        for (std::size_t k = 0; k < many; ++k) write(i + k * step, values[k]);
      },
      [&](std::size_t i) { write(i, value(i)); });
}

/// Runs formula(i) for each i below count. Formula must have a name, too.
template <class Formula>
struct Stream {
  static constexpr const char* name = Formula::name;
  static constexpr std::uint32_t threads = 256;
  using Shared = Nothing;

  std::size_t count;
  Formula formula;

  std::size_t blocks() const { return std::min<std::size_t>(blocks_for(count, threads), 4096); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    block.each([&](std::uint32_t thread) {
      const std::size_t step = static_cast<std::size_t>(block.blocks) * threads;
      const std::size_t begin = static_cast<std::size_t>(block.index) * threads + thread;
      for (std::size_t i = begin; i < count; i += step) formula(i);
    });
  }
};

/// Runs formula.write(i, j, formula.read(i, j)) for each i below rows and j below columns, in tiles: neighbouring threads
/// read neighbouring j and write neighbouring i, as a transposition needs it. Formula must have a name, too.
template <class Formula>
struct InTiles {
  static constexpr const char* name = Formula::name;
  static constexpr std::uint32_t threads = 256, side = 32;
  struct Shared {
    float tile[side][side + 1];  // one more, so that the elements of a column lie in different banks
  };

  std::size_t rows, columns;
  Formula formula;

  std::size_t blocks() const { return blocks_for(rows, side) * blocks_for(columns, side); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const auto [down, across] = core::divide(block.index, blocks_for(columns, side));
    const std::size_t first_i = down * side, first_j = across * side;
    block.each_of(side * side, [&](std::size_t k) {
      const std::size_t y = k / side, x = k % side, i = first_i + y, j = first_j + x;
      if (i < rows && j < columns) shared.tile[y][x] = formula.read(i, j);
    });
    block.each_of(side * side, [&](std::size_t k) {
      const std::size_t y = k % side, x = k / side, i = first_i + y, j = first_j + x;
      if (i < rows && j < columns) formula.write(i, j, shared.tile[y][x]);
    });
  }
};

/// Runs a kernel on the host, on host memory. backwards: the last block first, and the last thread first in each phase.
template <class Kernel>
void run_on_host(const Kernel& kernel, std::uint32_t blocks, bool backwards) {
  static_assert((Kernel::threads & (Kernel::threads - 1)) == 0);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    typename Kernel::Shared shared;
    std::memset(&shared, 0xFF, sizeof shared);  // kernels must not rely on zeros
    kernel(Block{backwards ? blocks - 1 - i : i, blocks, Kernel::threads, backwards}, shared);
  }
}
template <class Kernel>
void run_on_host(const Kernel& kernel, bool backwards = false) {
  run_on_host(kernel, static_cast<std::uint32_t>(kernel.blocks()), backwards);
}

}  // namespace paragrad::backend::gpu_kernels
