#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/philox.hpp"

/// Vectorised random numbers of backend::Device; the same bits as the reference.
namespace paragrad::backend::cpu {

void sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                      const float* p, float* y);
void sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                   const float* mean, float* y);

}  // namespace paragrad::backend::cpu
