#pragma once

// Lists in texts: format("known: {}", join(names, ", ")).
#include <fmt/format.h>

namespace paragrad::core {

using fmt::join;

}  // namespace paragrad::core
