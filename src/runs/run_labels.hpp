#pragma once

#include <string>
#include <vector>

#include "runs/run_options.hpp"

namespace paragrad::runs {

/// Of each run the options in which it differs from the others: "gradient-bits=1, momentum=0.9". An option that only some
/// runs have is left out if it has its default in all of these. The text is empty for a run without such options. The same
/// rule as in src/python/paragrad/labels.py. default_config: of a run for which nothing is given.
std::vector<std::string> differing_options(const std::vector<RunOptions>& runs, const std::string& default_config);

}  // namespace paragrad::runs
