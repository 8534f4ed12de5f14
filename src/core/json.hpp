#pragma once

// The only header that includes nlohmann-json. Keys keep their insertion order.
#include <nlohmann/json.hpp>
#include <string>

namespace paragrad::core {

using Json = nlohmann::ordered_json;

/// As text, on one line or, with an indent of 0 or more, on several. Names and paths need not be UTF-8, but JSON must be:
/// invalid bytes become U+FFFD. (Json::dump() would throw.)
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paragrad::core
