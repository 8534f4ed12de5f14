#pragma once

#include "backend/kernels.hpp"

namespace paragrad::backend::cpu {

/// A vectorised version of the reference's loop (the compiler does not vectorise its square root), with the same bits.
void adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w);

}  // namespace paragrad::backend::cpu
