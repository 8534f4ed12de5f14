#pragma once

#include <cstddef>

namespace paragrad::backend::cpu {

// Sums in double. The order of the additions depends on `count` alone, also on other instruction sets.
double dot(std::size_t count, const float* a, const float* b);
double squared_distance(std::size_t count, const float* a, const float* b);
double softplus_sum(std::size_t count, const float* x);

/// backend::Device::orthonormalise, on a copy whose columns are contiguous.
void orthonormalise(std::size_t rows, std::size_t rank, float* matrix);

}  // namespace paragrad::backend::cpu
