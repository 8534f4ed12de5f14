#pragma once

#include "backend/gpu_kernels/grid.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Kernels whose elements are channels (backend::ChannelKernel). There are too few channels to fill a GPU, so the sums are
/// taken over chunks of rows, in an order that depends on the sizes alone.
namespace paragrad::backend::gpu_kernels {

/// partial[chunk][channel] = the sums over a chunk's rows.
template <class Kernel>
struct PartialChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  static constexpr std::size_t most_chunks = 256, least_rows = 32;

  Kernel kernel;
  ChannelShape extent;
  std::size_t chunk_rows;
  ChannelSums* partial;

  static PartialChannelSums of(const Kernel& kernel, ChannelSums* partial) {
    const ChannelShape extent = kernel.extent();
    return {kernel, extent, std::max(least_rows, blocks_for(extent.rows, most_chunks)), partial};
  }
  std::size_t chunks() const { return blocks_for(extent.rows, chunk_rows); }
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t c = i % extent.channels, begin = i / extent.channels * chunk_rows;
    const std::size_t end = begin + chunk_rows < extent.rows ? begin + chunk_rows : extent.rows;
    ChannelSums sums;
    for (std::size_t row = begin; row < end; ++row) sums += kernel.term(row, c);
    partial[i] = sums;
  }
};

/// pairs[channel] = the kernel's take() of the channel's sums.
template <class Kernel>
struct TakeChannelSums {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  Kernel kernel;
  std::size_t chunks, channels;
  const ChannelSums* partial;
  ChannelPair<float>* pairs;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t c) const {
    ChannelSums sums;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) sums += partial[chunk * channels + c];
    pairs[c] = kernel.take(c, sums);
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
  return kernel.sums() ? PartialChannelSums<Kernel>::of(kernel, nullptr).chunks() * kernel.extent().channels : 0;
}

/// partial: memory for channel_sums_scratch; pairs: one per channel.
template <class Run, class Kernel>
void run_channels(const Run& run, const Kernel& kernel, ChannelSums* partial, ChannelPair<float>* pairs) {
  const auto [rows, channels] = kernel.extent();
  if (channels == 0) return;
  const auto sums = PartialChannelSums<Kernel>::of(kernel, partial);
  const std::size_t chunks = kernel.sums() ? sums.chunks() : 0;
  if (chunks > 0) run(Stream<PartialChannelSums<Kernel>>{chunks * channels, sums});
  run(Stream<TakeChannelSums<Kernel>>{channels, {kernel, chunks, channels, partial, pairs}});
  if (kernel.writes() && rows > 0) run(Stream<WriteRows<Kernel>>{rows * channels, {kernel, channels, pairs}});
}

}  // namespace paragrad::backend::gpu_kernels
