#pragma once

#include <cstddef>

#include "core/arena.hpp"

namespace paragrad::backend::cpu {

/// `count` zeros; on huge pages where they fill some and the system grants them: matrix products walk along columns, and
/// every row of a large matrix lies on another small page.
core::Arena allocate(std::size_t count);

}  // namespace paragrad::backend::cpu
