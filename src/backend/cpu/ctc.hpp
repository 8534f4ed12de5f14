#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/kernels.hpp"

namespace paragrad::backend::cpu {

/// One sequence after another, computing only the part of the lattice on paths from the first frame to the last.
LossSum ctc(std::size_t classes, std::span<const std::uint32_t> active, const std::int32_t* labels, float* logits);

}  // namespace paragrad::backend::cpu
