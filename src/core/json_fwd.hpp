#pragma once

// For declarations: compiles in a fifth of the time of core/json.hpp.
#include <nlohmann/json_fwd.hpp>

namespace paragrad::core {

/// Keys keep their insertion order.
using Json = nlohmann::ordered_json;

}  // namespace paragrad::core
