#pragma once

#include <cstdint>
#include <stdexcept>

#include "backend/kernel.hpp"

namespace paragrad::backend {

inline constexpr std::size_t pair_bytes = 8;  ///< of a selected element: index and value

/// Writes pair `i`.
void write_pair(std::byte* packed, std::size_t i, std::uint32_t index, float value);

/// u = x + residual; packed = the `keep` elements of u with the largest |u| (ties: lowest index first; NaN counts as
/// largest), as pairs {uint32 index, float value} with ascending indices; residual = u with those set to 0. With an empty
/// residual u = x and the other elements are dropped. packed has 8·keep bytes.
struct SelectLargest {
  static constexpr KernelId id = KernelId::select_largest;

  std::size_t keep;
  std::span<const float> x;
  std::span<float> residual;
  std::span<std::byte> packed;

  void check() const {
    constexpr std::uint64_t most = 0xFFFFFFFF;  // indices, and how many there are of a value, are uint32
    if (keep > x.size() || x.size() > most) throw std::logic_error("select_largest: more elements than there are");
    if (!residual.empty()) expect_size(id, "residual", residual.size(), x.size());
    expect_size(id, "packed", packed.size(), pair_bytes * keep);
  }
  KernelCost cost() const {
    return residual.empty() ? streaming_cost(x.size(), 1, 1, packed.size()) : streaming_cost(x.size(), 2, 3, packed.size());
  }
  void reference() const;

  /// The largest hundredth of a gradient. Packed it is what is sent, or, below, has just arrived.
  static Example<SelectLargest> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count, keep = count / 100] {
      return SelectLargest{keep, memory.gradient(count), memory.parameters(count),
                           std::as_writable_bytes(memory.activations(0, 2 * keep))};
    };
  }
};

/// x = keep·x with keep 0 (x is not read) or 1; then x[index] += value for each pair of packed. Indices must ascend, as
/// written by SelectLargest, so none is repeated and the pairs may be added in parallel.
struct ScatterAdd {
  static constexpr KernelId id = KernelId::scatter_add;

  std::span<const std::byte> packed;
  float keep;
  std::span<float> x;

  std::size_t pairs() const { return packed.size() / pair_bytes; }

  void check() const {
    if (packed.size() % pair_bytes != 0) throw std::logic_error("scatter_add: packed ends within a pair");
    if (keep != 0 && keep != 1) throw std::logic_error("scatter_add: keep is neither 0 nor 1");
  }
  /// Each pair reads and writes its element.
  KernelCost cost() const {
    KernelCost cost = streaming_cost(2 * pairs() + (keep == 0 ? x.size() : 0), 0, 1, packed.size());
    cost.work = {};
    cost.work.add(KernelKind::streaming, pairs(), cost.size[0]);
    return cost;
  }
  /// An index outside x and indices that do not ascend are contract violations.
  void reference() const;
  static Example<ScatterAdd> example(ExampleMemory& memory, std::size_t count) {
    const auto packed = std::as_writable_bytes(memory.activations(0, 2 * (count / 100)));
    memory.device().run(SelectLargest{count / 100, memory.gradient(count), {}, packed});
    return [&memory, packed, count] { return ScatterAdd{packed, 0, memory.parameters(count)}; };
  }
};

}  // namespace paragrad::backend
