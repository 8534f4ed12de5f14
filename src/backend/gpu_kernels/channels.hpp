#pragma once

#include <algorithm>
#include <bit>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Kernels whose elements are channels (backend::ChannelKernel). There are too few channels to fill a GPU, so the sums are
/// taken over chunks of rows, in an order that depends on the sizes alone.
namespace paragrad::backend::gpu_kernels {

/// How the threads of a block share a tile of up to 32 channels: neighbouring threads have neighbouring channels, and each
/// row of threads, a lane, has every lanes()th row.
struct ChannelTile {
  static constexpr std::uint32_t threads = 256, most_width = 32;
  struct Shared {
    double first[threads], second[threads];
  };

  std::size_t channels;
  std::uint32_t width;  // a power of two

  explicit ChannelTile(std::size_t of_channels)
      : channels(of_channels),
        width(static_cast<std::uint32_t>(std::bit_ceil(std::min<std::size_t>(of_channels, most_width)))) {}
  std::size_t tiles() const { return blocks_for(channels, width); }
  PARAGRAD_HOST_DEVICE std::uint32_t lanes() const { return threads / width; }

  /// Calls then(c, the sum of term(row, c) over the rows from begin to end) for each channel of the tile.
  template <class Term, class Then>
  PARAGRAD_HOST_DEVICE void add_up(const Block& block, Shared& shared, std::size_t tile, std::size_t begin, std::size_t end,
                                   const Term& term, const Then& then) const {
    const std::size_t first = tile * width;
    block.each([&](std::uint32_t thread) {
      const std::size_t c = first + thread % width;
      ChannelSums sums;
      if (c < channels)
        for (std::size_t row = begin + thread / width; row < end; row += lanes()) sums += term(row, c);
      shared.first[thread] = sums.first;
      shared.second[thread] = sums.second;
    });
    for (std::uint32_t half = threads / 2; half >= width; half /= 2)
      block.each([&](std::uint32_t thread) {
        if (thread >= half) return;
        shared.first[thread] += shared.first[thread + half];
        shared.second[thread] += shared.second[thread + half];
      });
    block.each([&](std::uint32_t thread) {
      if (thread < width && first + thread < channels) then(first + thread, ChannelSums{shared.first[thread], shared.second[thread]});
    });
  }
};

/// partial[chunk][channel] = the sums over a chunk's rows.
template <class Kernel>
struct PartialChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::uint32_t threads = ChannelTile::threads;
  using Shared = ChannelTile::Shared;
  static constexpr std::size_t most_blocks = 1024, least_rows = 8;  // of a lane

  Kernel kernel;
  ChannelTile tile;
  std::size_t rows, tiles, chunk_rows;
  ChannelSums* partial;

  static PartialChannelSums of(const Kernel& kernel, ChannelSums* partial) {
    const auto [rows, channels] = kernel.extent();
    const ChannelTile tile(channels);
    const std::size_t chunks = std::max<std::size_t>(1, most_blocks / tile.tiles());
    return {kernel, tile, rows, tile.tiles(), std::max(tile.lanes() * least_rows, blocks_for(rows, chunks)), partial};
  }
  std::size_t chunks() const { return blocks_for(rows, chunk_rows); }
  std::size_t blocks() const { return tiles * chunks(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::size_t chunk = block.index / tiles, begin = chunk * chunk_rows;
    tile.add_up(
        block, shared, block.index % tiles, begin, begin + chunk_rows < rows ? begin + chunk_rows : rows,
        [&](std::size_t row, std::size_t c) { return kernel.term(row, c); },
        [&](std::size_t c, const ChannelSums& sums) { partial[chunk * tile.channels + c] = sums; });
  }
};

/// pairs[channel] = the kernel's take() of the channel's sums.
template <class Kernel>
struct TakeChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::uint32_t threads = ChannelTile::threads;
  using Shared = ChannelTile::Shared;

  Kernel kernel;
  ChannelTile tile;
  std::size_t chunks;
  const ChannelSums* partial;
  ChannelPair<float>* pairs;

  std::size_t blocks() const { return tile.tiles(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    tile.add_up(
        block, shared, block.index, 0, chunks,
        [&](std::size_t chunk, std::size_t c) { return partial[chunk * tile.channels + c]; },
        [&](std::size_t c, const ChannelSums& sums) { pairs[c] = kernel.take(c, sums); });
  }
};

template <class Kernel>
struct WriteRows {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  Kernel kernel;
  std::size_t channels;
  const ChannelPair<float>* pairs;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    kernel.write(i / channels, i % channels, pairs[i % channels]);
  }
};

/// Elements of the scratch memory of run_channels.
template <class Kernel>
std::size_t channel_sums_scratch(const Kernel& kernel) {
  return kernel.sums() && kernel.extent().channels > 0 ? PartialChannelSums<Kernel>::of(kernel, nullptr).chunks() * kernel.extent().channels : 0;
}

/// partial: memory for channel_sums_scratch; pairs: one per channel.
template <class Run, class Kernel>
void run_channels(const Run& run, const Kernel& kernel, ChannelSums* partial, ChannelPair<float>* pairs) {
  const auto [rows, channels] = kernel.extent();
  if (channels == 0) return;
  const auto sums = PartialChannelSums<Kernel>::of(kernel, partial);
  const std::size_t chunks = kernel.sums() ? sums.chunks() : 0;
  if (chunks > 0) run(sums);
  run(TakeChannelSums<Kernel>{kernel, sums.tile, chunks, partial, pairs});
  if (kernel.writes() && rows > 0) run(Stream<WriteRows<Kernel>>{rows * channels, {kernel, channels, pairs}});
}

}  // namespace paragrad::backend::gpu_kernels
