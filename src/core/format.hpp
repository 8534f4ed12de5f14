#pragma once

// The door to fmt (std::format is missing in GCC 12). Lists need core/join.hpp, which takes twice as long to compile.
#include <fmt/core.h>

namespace paragrad::core {

using fmt::format;

}  // namespace paragrad::core
