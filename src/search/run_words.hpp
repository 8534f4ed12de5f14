#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "search/search_runs.hpp"

namespace paragrad::search {

/// The command of a run with its options, without the program: the values of its configuration, and what the search sets.
/// resumes: a state of the run is in the folder; otherwise what is there is the search's own, and made again.
std::vector<std::string> words_of_run(const SearchPlan& plan, const Values& values, std::uint64_t seed,
                                      const std::string& folder, bool resumes);

/// Names of the options that a search sets itself, whatever the configuration.
std::set<std::string> options_set_by_search();

}  // namespace paragrad::search
