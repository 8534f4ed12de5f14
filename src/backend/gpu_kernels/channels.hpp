#pragma once

#include <algorithm>
#include <bit>
#include <functional>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Kernels whose elements are channels (backend::ChannelKernel). There are too few channels to fill a GPU, so the sums are
/// taken over chunks of rows, in an order that depends on the sizes alone.
namespace paragrad::backend::gpu_kernels {

/// x[rows][channels], cut into chunks of rows and tiles of a few channels; a block takes one tile of one chunk. Neighbouring
/// threads take neighbouring channels; the `width` threads that share a row form a lane, and a lane takes every lanes()-th
/// row.
struct ChannelTiles {
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    double first[threads], second[threads];
  };

  std::size_t rows, channels;
  std::uint32_t width;  // of a tile, a power of two
  std::uint32_t tiles;
  std::size_t chunk_rows;

  /// Tiles of up to most_width channels; all rows in one chunk.
  static ChannelTiles of(const ChannelShape& shape, std::size_t most_width) {
    const std::size_t width = std::bit_ceil(std::min(shape.channels, most_width));
    return {shape.rows, shape.channels, static_cast<std::uint32_t>(width),
            static_cast<std::uint32_t>(blocks_for(shape.channels, width)), std::max<std::size_t>(1, shape.rows)};
  }
  /// As many chunks as give up to most_blocks blocks, with at least 8 rows per lane.
  static ChannelTiles chunked(const ChannelShape& shape, std::size_t most_blocks) {
    ChannelTiles made = of(shape, 32);
    const std::size_t chunks = std::max<std::size_t>(1, most_blocks / made.tiles);
    made.chunk_rows = std::max<std::size_t>(8 * made.lanes(), blocks_for(shape.rows, chunks));
    return made;
  }

  std::size_t chunks() const { return blocks_for(rows, chunk_rows); }
  std::size_t blocks() const { return tiles * chunks(); }
  PARAGRAD_HOST_DEVICE std::uint32_t lanes() const { return threads / width; }
  PARAGRAD_HOST_DEVICE std::size_t chunk_of(const Block& block) const { return block.index / tiles; }
  PARAGRAD_HOST_DEVICE std::size_t channel_of(const Block& block, std::uint32_t thread) const {
    return block.index % tiles * width + thread % width;
  }

  /// The chunk's rows; a thread starts at begin + thread / width.
  PARAGRAD_HOST_DEVICE Stretch rows_of(const Block& block) const {
    const std::size_t begin = chunk_of(block) * chunk_rows;
    return {begin, begin + chunk_rows < rows ? begin + chunk_rows : rows};
  }

  /// Calls then(c, the sum of the chunk's terms) for each channel of the tile. with_terms(c, loop) calls loop(load, term).
  template <class WithTerms, class Then>
  PARAGRAD_HOST_DEVICE void add_up(const Block& block, Shared& shared, const WithTerms& with_terms, const Then& then) const {
    const Stretch mine = rows_of(block);
    block.each([&](std::uint32_t thread) {
      const std::size_t c = channel_of(block, thread);
      ChannelSums sums;
      if (c < channels)
        with_terms(c, [&](const auto& load, const auto& term) {
          add_in_groups(sums, mine.begin + thread / width, mine.end, lanes(), load, term);
        });
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
      const std::size_t c = channel_of(block, thread);
      if (thread < width && c < channels) then(c, ChannelSums{shared.first[thread], shared.second[thread]});
    });
  }
};

/// partial[chunk][channel] = the sums over a chunk's rows.
template <class Kernel>
struct PartialChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::uint32_t threads = ChannelTiles::threads;
  using Shared = ChannelTiles::Shared;

  static constexpr std::size_t most_blocks = 1024;  // whose sums one block per tile adds up

  Kernel kernel;
  ChannelTiles tiles;
  ChannelSums* partial;

  static PartialChannelSums of(const Kernel& kernel, ChannelSums* partial) {
    return {kernel, ChannelTiles::chunked(kernel.extent(), most_blocks), partial};
  }
  std::size_t blocks() const { return tiles.blocks(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    ChannelSums* const of_chunk = partial + tiles.chunk_of(block) * tiles.channels;
    tiles.add_up(
        block, shared, [&](std::size_t c, const auto& loop) { kernel.with_terms(c, loop); },
        [&](std::size_t c, const ChannelSums& sums) { of_chunk[c] = sums; });
  }
};

/// pairs[channel] = the kernel's take() of the channel's sums.
template <class Kernel>
struct TakeChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::uint32_t threads = ChannelTiles::threads;
  using Shared = ChannelTiles::Shared;

  Kernel kernel;
  ChannelTiles tiles;  // of partial[chunks][channels]
  const ChannelSums* partial;
  ChannelPair<float>* pairs;

  static TakeChannelSums of(const Kernel& kernel, std::size_t chunks, const ChannelSums* partial,
                            ChannelPair<float>* pairs) {
    constexpr std::size_t most_width = 8;  // the 128 bytes that the GPU reads at once
    const ChannelShape of_partial{chunks, kernel.extent().channels};
    return {kernel, ChannelTiles::of(of_partial, most_width), partial, pairs};
  }
  std::size_t blocks() const { return tiles.blocks(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    tiles.add_up(
        block, shared,
        [&](std::size_t c, const auto& loop) {
          loop([&](std::size_t chunk) { return partial[chunk * tiles.channels + c]; }, std::identity{});
        },
        [&](std::size_t c, const ChannelSums& sums) { pairs[c] = kernel.take(c, sums); });
  }
};

/// The second pass.
template <WritingChannelKernel Kernel>
struct WriteRows {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::uint32_t threads = ChannelTiles::threads;
  using Shared = Nothing;

  static constexpr std::size_t most_blocks = 8192;

  Kernel kernel;
  ChannelTiles tiles;
  const ChannelPair<float>* pairs;

  static WriteRows of(const Kernel& kernel, const ChannelPair<float>* pairs) {
    return {kernel, ChannelTiles::chunked(kernel.extent(), most_blocks), pairs};
  }
  std::size_t blocks() const { return tiles.blocks(); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    block.each([&](std::uint32_t thread) {
      const std::size_t c = tiles.channel_of(block, thread);
      if (c >= tiles.channels) return;
      float* const written = kernel.written().data() + c;
      const Stretch rows = tiles.rows_of(block);
      kernel.with_values(c, pairs[c], [&](const auto& value) {
        write_in_fours(rows.begin + thread / tiles.width, rows.end, tiles.lanes(), value,
                       [&](std::size_t row, float of_row) { written[row * tiles.channels] = of_row; });
      });
    });
  }
};

/// Elements of the scratch memory of run_channels.
template <class Kernel>
std::size_t channel_sums_scratch(const Kernel& kernel) {
  const std::size_t channels = kernel.extent().channels;
  return kernel.sums() && channels > 0 ? PartialChannelSums<Kernel>::of(kernel, nullptr).tiles.chunks() * channels : 0;
}

/// partial: memory for channel_sums_scratch; pairs: one per channel.
template <class Run, class Kernel>
void run_channels(const Run& run, const Kernel& kernel, ChannelSums* partial, ChannelPair<float>* pairs) {
  if (kernel.extent().channels == 0) return;
  std::size_t chunks = 0;
  if (kernel.sums()) {
    const auto sums = PartialChannelSums<Kernel>::of(kernel, partial);
    chunks = sums.tiles.chunks();
    run(sums);
  }
  run(TakeChannelSums<Kernel>::of(kernel, chunks, partial, pairs));
  if constexpr (WritingChannelKernel<Kernel>)
    if (!kernel.written().empty()) run(WriteRows<Kernel>::of(kernel, pairs));
}

// ---- bodies ----

template <ChannelKernel Kernel>
void run(auto& gpu, const Kernel& kernel) {
  auto* const partial = gpu.template scratch<ChannelSums>("channel sums", channel_sums_scratch(kernel));
  auto* const pairs = gpu.template scratch<ChannelPair<float>>("channels", kernel.extent().channels);
  run_channels(gpu.runner(), kernel, partial, pairs);
}

}  // namespace paragrad::backend::gpu_kernels
