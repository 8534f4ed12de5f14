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
  PARAGRAD_HOST_DEVICE std::uint32_t sum(std::uint32_t left, std::uint32_t right) const {
    const auto a = static_cast<std::uint16_t>(left), b = static_cast<std::uint16_t>(right);
    if (code == Code::bf16) return to_bfloat16(from_bfloat16(a) + from_bfloat16(b));
    constexpr float rounds_beyond = 65520;  // half-way from the largest number to the next
    constexpr std::uint32_t infinity = 0x7C00;
    const float result = from_half(a) + from_half(b);
    return std::abs(result) >= rounds_beyond ? infinity | (result < 0 ? 0x8000u : 0) : to_half(result);
  }
};

}  // namespace paragrad::backend
