#pragma once

// The only header that includes nlohmann/json.hpp. Declarations of functions with a Json need just core/json_fwd.hpp.
#include <nlohmann/json.hpp>
#include <string>

#include "core/json_fwd.hpp"

namespace paragrad::core {

/// As text, on one line or, with an indent of 0 or more, on several. Names and paths need not be UTF-8, but JSON must be:
/// invalid bytes become U+FFFD. (Json::dump() would throw.)
std::string text_of(const Json& json, int indent = -1);

/// Throws nlohmann's exceptions, and std::runtime_error for text that nests deeper than 100 levels: writing and comparing
/// such values uses up the stack.
Json parse_json(const std::string& text);

/// A value of the type "discarded", which is no object, if parse_json() would throw.
Json parse_json_or_discard(const std::string& text);

}  // namespace paragrad::core
