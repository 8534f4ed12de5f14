#pragma once

// The one door to nlohmann-json. Keys keep the order in which they were written.
#include <nlohmann/json.hpp>
#include <string>

namespace paragrad::core {

using Json = nlohmann::ordered_json;

/// As text, on one line or (indent of 0 or more) on several. A name or a path need not be UTF-8, but JSON must: what is not
/// becomes U+FFFD. (Json::dump() would throw.)
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paragrad::core
