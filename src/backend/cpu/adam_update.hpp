#pragma once

#include "backend/kernels.hpp"

namespace paragrad::backend::cpu {

/// The reference's loop, whose root keeps the compiler from vectorising it, and its bits.
void adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w);

}  // namespace paragrad::backend::cpu
