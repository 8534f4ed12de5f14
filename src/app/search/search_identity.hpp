#pragma once

#include <string>

#include "core/json.hpp"

namespace paragrad::app {

/// Writes `identity`, what decides the runs of a search and their results, to search.json in the search's folder. If that
/// file is there already, throws ConfigError unless it holds the same. file: with the search's options, for the message.
void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file);

}  // namespace paragrad::app
