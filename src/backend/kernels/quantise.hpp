#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "backend/kernel.hpp"
#include "backend/quantiser.hpp"

namespace paragrad::backend {

/// u = x + residual; packed = code(u), column by column; residual = u - decoded(packed). With an empty residual u = x and
/// the error is dropped. x is [columns][rows], each column contiguous; packed is [packed_bytes(rows, columns)], laid out
/// as in backend/quantiser.hpp. Adds to `saturated`, one number or none, how many elements exceed the range of fp16.
struct Quantise {
  static constexpr KernelId id = KernelId::quantise;

  Quantiser quantiser;
  std::size_t rows, columns;
  std::span<const float> x;
  std::span<float> residual;
  std::span<std::byte> packed;
  std::span<std::uint32_t> saturated{};

  void check() const {
    expect_size(id, "x", x.size(), rows * columns);
    if (!saturated.empty()) expect_size(id, "saturated", saturated.size(), 1);
    if (!residual.empty()) expect_size(id, "residual", residual.size(), x.size());
    expect_size(id, "packed", packed.size(), quantiser.packed_bytes(rows, columns));
  }
  KernelCost cost() const {
    return residual.empty() ? streaming_cost(x.size(), 2, 1, packed.size()) : streaming_cost(x.size(), 4, 3, packed.size());
  }
  void reference() const;

  /// A gradient of 1 bit in columns of about 512. Packed it is what is sent, or, below, has just arrived.
  static Example<Quantise> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t columns = std::max<std::size_t>(1, (count + 256) / 512), rows = count / columns;
    const std::size_t packed_bytes = Quantiser().packed_bytes(rows, columns);
    return [=, &memory] {
      return Quantise{{},
                      rows,
                      columns,
                      memory.gradient(rows * columns),
                      memory.parameters(rows * columns),
                      std::as_writable_bytes(memory.activations(0, packed_bytes / sizeof(float)))};
    };
  }
};

/// x = keep·x + decoded(packed); keep is 0 (x is not read) or 1.
struct Dequantise {
  static constexpr KernelId id = KernelId::dequantise;

  Quantiser quantiser;
  std::size_t rows, columns;
  std::span<const std::byte> packed;
  float keep;
  std::span<float> x;

  void check() const {
    expect_size(id, "packed", packed.size(), quantiser.packed_bytes(rows, columns));
    expect_size(id, "x", x.size(), rows * columns);
    if (keep != 0 && keep != 1) throw std::logic_error("dequantise: keep is neither 0 nor 1");
  }
  KernelCost cost() const { return streaming_cost(x.size(), keep == 0 ? 1 : 2, keep == 0 ? 1 : 2, packed.size()); }
  void reference() const;
  static Example<Dequantise> example(ExampleMemory& memory, std::size_t count) {
    const std::size_t columns = std::max<std::size_t>(1, (count + 256) / 512), rows = count / columns;
    const std::size_t packed_bytes = Quantiser().packed_bytes(rows, columns);
    return [=, &memory] {
      const auto packed = std::as_bytes(memory.activations(0, packed_bytes / sizeof(float)));
      return Dequantise{{}, rows, columns, packed, 0, memory.parameters(rows * columns)};
    };
  }
};

}  // namespace paragrad::backend
