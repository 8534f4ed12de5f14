#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/quantiser.hpp"

/// The codes of backend/quantiser.hpp as plain loops, statistics in double.
namespace paragrad::backend::reference {

// Rounded to the nearest number, to the even one of two. NaN stays NaN, and loses its lower bits.
std::uint16_t to_bfloat16(float value);
float from_bfloat16(std::uint16_t code);
std::uint16_t to_half(float value);  ///< saturates at ±65504
float from_half(std::uint16_t code);

void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
              std::byte* packed);
void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                float* x);

}  // namespace paragrad::backend::reference
