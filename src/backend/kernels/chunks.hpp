#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>

#include "backend/kernel.hpp"
#include "backend/quantiser.hpp"

namespace paragrad::backend {

/// The `keep` largest elements of each chunk of an array. The last chunk may be shorter and keeps its share, rounded up.
/// Packed:
///
///   values  of the kept elements, chunk after chunk, in the order of their places: floats, or in `code`, as one column of
///           backend/quantiser.hpp
///   places  within their chunks, in as many bits as the last place of a whole chunk needs, at least 1. A sequence of 32-bit
///           words, little-endian, lower bits first; unused bits of the last word are 0.
struct ChunkFormat {
  std::size_t keep = 1;   ///< at most `chunk`
  std::size_t chunk = 1;  ///< at most 65,536
  bool coded = false;     ///< values are in `code`
  Code code = Code::bins2;

  PARAGRAD_HOST_DEVICE std::size_t kept_of(std::size_t length) const { return (keep * length + chunk - 1) / chunk; }
  std::size_t kept(std::size_t count) const { return count / chunk * keep + kept_of(count % chunk); }
  PARAGRAD_HOST_DEVICE std::size_t place_bits() const {
    return chunk <= 2 ? 1 : static_cast<std::size_t>(std::bit_width(chunk - 1));
  }
  std::size_t value_bytes(std::size_t count) const {
    return coded ? Quantiser{code}.packed_bytes(kept(count), 1) : sizeof(float) * kept(count);
  }
  std::size_t packed_bytes(std::size_t count) const {
    return value_bytes(count) + 4 * ((kept(count) * place_bits() + 31) / 32);
  }

  void check(KernelId id, std::size_t packed, std::size_t count) const {
    constexpr std::uint64_t most = 0xFFFFFFFF;  // places in the whole array are uint32
    if (count > most) throw std::logic_error("chunks: more elements than places can name");
    if (keep == 0 || keep > chunk || chunk > 65536) throw std::logic_error("chunks: keep or chunk is out of range");
    expect_size(id, "packed", packed, packed_bytes(count));
  }
};

/// u = x + residual; packed = the largest |u| of each chunk (ties: the first; NaN counts as largest); residual = u less what
/// packed stands for. With an empty residual u = x and the rest is dropped.
struct EncodeChunks {
  static constexpr KernelId id = KernelId::encode_chunks;

  ChunkFormat format;
  std::span<const float> x;
  std::span<float> residual;
  std::span<std::byte> packed;

  void check() const {
    format.check(id, packed.size(), x.size());
    if (!residual.empty()) expect_size(id, "residual", residual.size(), x.size());
  }
  KernelCost cost() const {
    return residual.empty() ? streaming_cost(x.size(), 1, 1, packed.size()) : streaming_cost(x.size(), 2, 3, packed.size());
  }
  void reference() const;

  static Example<EncodeChunks> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      const ChunkFormat format = example_format(count);
      return EncodeChunks{format, memory.gradient(count), memory.parameters(count),
                          std::as_writable_bytes(memory.activations(0, format.packed_bytes(count) / sizeof(float)))};
    };
  }
  /// That of SparseLoCo.
  static ChunkFormat example_format(std::size_t count) {
    const std::size_t chunk = std::clamp<std::size_t>(count, 1, 4096);
    return {std::min<std::size_t>(chunk, 64), chunk, true};
  }
};

/// x = keep·x with keep 0 (x is not read) or 1; then the packed values are added at their places.
struct DecodeChunks {
  static constexpr KernelId id = KernelId::decode_chunks;

  ChunkFormat format;
  std::span<const std::byte> packed;
  float keep;
  std::span<float> x;

  void check() const {
    format.check(id, packed.size(), x.size());
    if (keep != 0 && keep != 1) throw std::logic_error("decode_chunks: keep is neither 0 nor 1");
  }
  /// Each value reads and writes its element.
  KernelCost cost() const {
    return streaming_cost(2 * format.kept(x.size()) + (keep == 0 ? x.size() : 0), 1, 1, packed.size());
  }
  /// A place outside its chunk is a contract violation.
  void reference() const;

  static Example<DecodeChunks> example(ExampleMemory& memory, std::size_t count) {
    const ChunkFormat format = EncodeChunks::example_format(count);
    const auto packed = std::as_writable_bytes(memory.activations(0, format.packed_bytes(count) / sizeof(float)));
    memory.device().run(EncodeChunks{format, memory.gradient(count), {}, packed});
    return [&memory, packed, format, count] { return DecodeChunks{format, packed, 0, memory.parameters(count)}; };
  }
};

}  // namespace paragrad::backend
