#pragma once

#include <string>

#include "core/json_fwd.hpp"
#include "search/search_arguments.hpp"
#include "search/search_runs.hpp"

namespace paragrad::search {

/// What decides the runs of a search and their results, with digests of the files that they read; search.json in the
/// search's folder holds it. Throws ConfigError if the file of options cannot be read.
core::Json search_identity(const SearchArguments& arguments, const SearchPlan& plan);

/// file: with the search's options, for messages.
///
/// Throws ConfigError if there is no search.json, or if it holds another search. Files that cannot be read, here or when the
/// search began, are not compared.
void check_same_search(const std::string& folder, const core::Json& identity, const std::string& file);

/// Writes search.json or, if it is there already, checks it. Throws ConfigError for the folder of a run, too.
void begin_search(const std::string& folder, const core::Json& identity, const std::string& file);

}  // namespace paragrad::search
