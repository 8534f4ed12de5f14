#pragma once

#include <cstdint>
#include <string_view>

#include "core/json_fwd.hpp"

namespace paragrad::runs {

/// Describes the program (version, commit, compiler, libraries) and its host for a manifest: an object with the keys
/// "program" and "host". device: the compute device; if it is not a processor of the host, the host's entry names it.
core::Json environment(std::string_view device = {});

/// Peak resident memory of this process so far.
std::uint64_t peak_memory_bytes();

}  // namespace paragrad::runs
