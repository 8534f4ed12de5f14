#pragma once

#include <cstddef>

#include "backend/quantiser.hpp"

namespace paragrad::backend::cpu {

/// backend::Device::quantise and dequantise, 32 rows at a time. A column that fits into the cache is read from memory once.
/// bits16, fp16 and bf16 have the reference's bytes. The levels and steps of the others are sums in another order and may
/// differ by a rounding; the bits around the threshold 0 do not. Every instruction set adds up in the same order.
void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
              std::byte* packed);
void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                float* x);

}  // namespace paragrad::backend::cpu
