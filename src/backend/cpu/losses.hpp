#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/kernels.hpp"

namespace paragrad::backend::cpu {

LossSum softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* logits);
LossSum squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* y);

}  // namespace paragrad::backend::cpu
