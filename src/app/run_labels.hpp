#pragma once

#include <map>
#include <string>
#include <vector>

namespace paragrad::app {

/// Options by name, with values as in config.toml.
using RunOptions = std::map<std::string, std::string>;

/// The options of train and simulate that nobody gives, as a run's config.toml holds them, in their order.
std::string default_config();

/// Of each run the options in which it differs from the others: "gradient-bits=1, momentum=0.9". An option that only some
/// runs have is left out if it has its default in all of these. The text is empty for a run without such options. The same
/// rule as in src/python/paragrad/labels.py.
std::vector<std::string> differing_options(const std::vector<RunOptions>& runs);

}  // namespace paragrad::app
