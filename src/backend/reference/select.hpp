#pragma once

#include <cstddef>
#include <cstdint>

namespace paragrad::backend::reference {

/// Address of pair `i`: {uint32 index, float value}.
void write_pair(std::byte* packed, std::size_t i, std::uint32_t index, float value);

void select_largest(std::size_t keep, std::size_t count, const float* x, float* residual, std::byte* packed);

/// An index outside x and indices that do not ascend are contract violations.
void scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x);

}  // namespace paragrad::backend::reference
