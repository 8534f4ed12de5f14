#pragma once

#include "search/methods.hpp"
#include "search/search_arguments.hpp"
#include "search/search_runs.hpp"

namespace paragrad::search {

/// Trains the configurations from rung to rung, prints and writes how they rank, and returns the exit code. What was done
/// before is not done again. Throws ConfigError if no configuration has a score.
///
/// arguments: must outlive the call. plan: of these arguments and these methods; plan.own are all runs.
int run_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan);

/// Executes the runs of plan.own as far as the rungs let them go, and ranks nothing. Throws ConfigError if one of them
/// failed.
int run_part_of_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan);

/// Executes nothing, and ranks what the runs have reached. plan.own is empty.
int rank_search(const SearchArguments& arguments, const Methods& methods, SearchPlan plan);

}  // namespace paragrad::search
