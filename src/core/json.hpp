#pragma once

// The one door to nlohmann-json. Keys keep the order in which they were written.
#include <nlohmann/json.hpp>

namespace paragrad::core {

using Json = nlohmann::ordered_json;

}  // namespace paragrad::core
