#pragma once

#include <cstddef>

#include "backend/quantiser.hpp"

/// The codes of backend/quantiser.hpp as plain loops over backend/code_formulas.hpp, statistics in double.
namespace paragrad::backend::reference {

void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const float* x, float* residual,
              std::byte* packed);
void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                float* x);

}  // namespace paragrad::backend::reference
