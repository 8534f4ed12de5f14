#pragma once

#include <string>

#include "app/search/search_arguments.hpp"
#include "core/json.hpp"

namespace paragrad::app {

/// What decides the runs of a search and their results; search.json in the search's folder holds it. Throws ConfigError if
/// the file of options cannot be read.
core::Json search_identity(const SearchArguments& arguments);

/// file: with the search's options, for messages.
///
/// Throws ConfigError if there is no search.json, or if it holds another search.
void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file);

/// Writes search.json or, if it is there already, checks it.
void begin_search(const std::string& folder, const core::Json& identity, const std::string& file);

}  // namespace paragrad::app
