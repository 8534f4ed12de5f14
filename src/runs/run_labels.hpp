#pragma once

#include <map>
#include <string>
#include <vector>

namespace paragrad::runs {

/// Options by name, with values as in config.toml.
using RunOptions = std::map<std::string, std::string>;

/// Of each run the options in which it differs from the others: "gradient-bits=1, momentum=0.9". An option that only some
/// runs have is left out if it has its default in all of these. The text is empty for a run without such options. The same
/// rule as in src/python/paragrad/labels.py. default_config: of a run for which nothing is given.
std::vector<std::string> differing_options(const std::vector<RunOptions>& runs, const std::string& default_config);

}  // namespace paragrad::runs
