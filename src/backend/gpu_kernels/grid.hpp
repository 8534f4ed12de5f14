#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/host_device.hpp"

/// Kernels for a grid of blocks of threads, written once: a GPU runs them, and so does the host, thread after thread, where
/// tests hold them against the reference.
///
///   struct Kernel {
///     static constexpr const char* name = "…";         // for errors
///     static constexpr std::uint32_t threads = 256;    // of a block, a power of two
///     struct Shared { … };                             // memory of a block, not initialised; at most 48 KiB
///     std::size_t blocks() const;                      // at least 1
///     PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const;
///   };
///
/// What it computes must not depend on the order of blocks, nor on the order of threads within a phase.
namespace paragrad::backend::gpu_kernels {

/// A block as its kernel sees it: phases, one after the other, each of which all of its threads go through. What one phase
/// wrote, to shared memory or to the arrays, all threads of the block see in the next. Nothing else lasts from phase to
/// phase but what is the same for all threads.
struct Block {
  std::uint32_t index;     ///< among the blocks
  std::uint32_t blocks;    ///< of the grid
  std::uint32_t threads;   ///< of a block
  bool backwards = false;  ///< on the host: the last thread goes first, which must make no difference

  /// phase(thread) for each thread. All threads must come here: never within a condition that differs between them.
  template <class Phase>
  PARAGRAD_HOST_DEVICE void each(const Phase& phase) const {
#ifdef __CUDA_ARCH__
    phase(static_cast<std::uint32_t>(threadIdx.x));
    __syncthreads();
#else
    for (std::uint32_t i = 0; i < threads; ++i) phase(backwards ? threads - 1 - i : i);
#endif
  }

  /// phase(i) for each i below count, spread over the threads.
  template <class Phase>
  PARAGRAD_HOST_DEVICE void each_of(std::size_t count, const Phase& phase) const {
    each([&](std::uint32_t thread) {
      for (std::size_t i = thread; i < count; i += threads) phase(i);
    });
  }

  /// values[0] = the combination of values[0 … threads), in an order that depends on `threads` alone. The others are used
  /// up.
  template <class T, class Combine>
  PARAGRAD_HOST_DEVICE void combine(T* values, const Combine& two) const {
    for (std::uint32_t half = threads / 2; half > 0; half /= 2)
      each([&](std::uint32_t thread) {
        if (thread < half) values[thread] = two(values[thread], values[thread + half]);
      });
  }
};

/// *where += value, by many threads at once. Of whole numbers, whose sum does not depend on the order.
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

/// formula(i) for each i below count. Formula has a name, too.
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
      for (std::size_t i = static_cast<std::size_t>(block.index) * threads + thread; i < count; i += step) formula(i);
    });
  }
};

/// Runs a kernel here, on memory of the host. backwards: the last block goes first, and in each of its phases the last
/// thread.
template <class Kernel>
void run_on_host(const Kernel& kernel, std::uint32_t blocks, bool backwards) {
  static_assert((Kernel::threads & (Kernel::threads - 1)) == 0);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    typename Kernel::Shared shared;
    std::memset(&shared, 0xFF, sizeof shared);  // nobody may count on zeros
    kernel(Block{backwards ? blocks - 1 - i : i, blocks, Kernel::threads, backwards}, shared);
  }
}
template <class Kernel>
void run_on_host(const Kernel& kernel, bool backwards = false) {
  run_on_host(kernel, static_cast<std::uint32_t>(kernel.blocks()), backwards);
}

}  // namespace paragrad::backend::gpu_kernels
