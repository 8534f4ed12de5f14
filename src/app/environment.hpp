#pragma once

#include <cstdint>

#include "core/json.hpp"

namespace paragrad::app {

/// What every manifest says of the program (version, commit, compiler, libraries) and of the host it runs on: an object with
/// the keys "program" and "host".
core::Json environment();

/// Peak resident memory of this process so far.
std::uint64_t peak_memory_bytes();

}  // namespace paragrad::app
