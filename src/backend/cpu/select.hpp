#pragma once

#include <cstddef>

namespace paragrad::backend::cpu {

/// backend::Device::select_largest, by a histogram of the upper bits of |u|: three passes over u for any `keep`.
void select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed);

}  // namespace paragrad::backend::cpu
