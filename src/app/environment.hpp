#pragma once

#include <cstdint>
#include <string_view>

#include "core/json.hpp"

namespace paragrad::app {

/// What every manifest says of the program (version, commit, compiler, libraries) and of the host it runs on: an object with
/// the keys "program" and "host". device: what computes; where that is no processor of the host's, it is said which.
core::Json environment(std::string_view device = {});

/// Peak resident memory of this process so far.
std::uint64_t peak_memory_bytes();

}  // namespace paragrad::app
