#pragma once

#include <vector>

#include "core/layout.hpp"

namespace paragrad::optim::testing {

/// Parameters of a model: a matrix and, behind it, a row.
inline constexpr std::size_t count = 37;
inline const std::vector<core::Matrix> layout{{0, {17, 2}}, {34, {3, 1}}};

inline constexpr float samples = 4;  ///< of a minibatch

}  // namespace paragrad::optim::testing
