#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "backend/code_formulas.hpp"
#include "backend/kernel.hpp"
#include "backend/quantiser.hpp"

namespace paragrad::backend {

/// to += from, arrays of 16-bit codes, fp16 or bf16, two in each float: the first in its lower half. Each sum is computed in
/// float and rounded to nearest, ties to even. A sum beyond the range of fp16 is infinite, so that nobody mistakes it.
struct AddCodes {
  static constexpr KernelId id = KernelId::add_codes;

  Code code;
  std::span<const float> from;
  std::span<float> to;

  void check() const { expect_size(id, "from", from.size(), to.size()); }
  KernelCost cost() const { return streaming_cost(to.size(), 2, 3); }
  std::size_t elements() const { return to.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const auto left = std::bit_cast<std::uint32_t>(to[i]), right = std::bit_cast<std::uint32_t>(from[i]);
    to[i] = std::bit_cast<float>(sum(left & 0xFFFF, right & 0xFFFF) | sum(left >> 16, right >> 16) << 16);
  }
  static Example<AddCodes> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return AddCodes{Code::bf16, memory.activations(0, count), memory.parameters(count)}; };
  }

 private:
  /// The same bits whatever a device does with NaN and with numbers below float's normal ones, for which it counts 0.
  PARAGRAD_HOST_DEVICE std::uint32_t sum(std::uint32_t left, std::uint32_t right) const {
    const bool is_half = code == Code::fp16;
    const auto number = [is_half](std::uint32_t one) {
      const auto bits = static_cast<std::uint16_t>(one);
      return is_half ? from_half(bits) : (bits & 0x7F80) == 0 ? 0.f : from_bfloat16(bits);
    };
    constexpr float rounds_beyond = 65520, least_normal = 0x1p-126f;  // half-way from the largest of fp16 to the next
    constexpr std::uint32_t infinity = 0x7C00;
    const float result = number(left) + number(right), size = std::abs(result);
    if (std::isnan(result)) return is_half ? 0x7E00 : 0x7FC0;
    if (size < least_normal) return 0;
    if (!is_half) return to_bfloat16(result);
    return size >= rounds_beyond ? infinity | (result < 0 ? 0x8000u : 0) : to_half(result);
  }
};

}  // namespace paragrad::backend
