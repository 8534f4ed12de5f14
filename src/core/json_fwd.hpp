#pragma once

// For declarations: a fifth of what core/json.hpp takes to compile.
#include <nlohmann/json_fwd.hpp>

namespace paragrad::core {

/// Keys keep their insertion order.
using Json = nlohmann::ordered_json;

}  // namespace paragrad::core
