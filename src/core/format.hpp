#pragma once

// The one door to fmt (std::format is missing in GCC 12).
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paragrad::core {

using fmt::format;

}  // namespace paragrad::core
