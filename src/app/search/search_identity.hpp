#pragma once

#include <string>

#include "core/json.hpp"

namespace paragrad::app {

/// `identity` is what decides the runs of a search and their results; search.json in the search's folder holds it. file:
/// with the search's options, for messages.
///
/// Throws ConfigError if there is no search.json, or if it holds another search.
void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file);

/// Writes search.json or, if it is there already, checks it.
void begin_search(const std::string& folder, const core::Json& identity, const std::string& file);

}  // namespace paragrad::app
