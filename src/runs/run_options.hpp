#pragma once

#include <istream>
#include <map>
#include <set>
#include <string>

#include "core/option_info.hpp"

namespace paragrad::runs {

/// Options by name, with values as in config.toml.
using RunOptions = std::map<std::string, std::string>;

/// The options in the text of a config.toml that determine what is computed.
RunOptions options_in(std::istream& config);

/// Those in a run's config.toml. Empty without that file.
RunOptions options_of(const std::string& run_folder);

/// Whether the option is computed from what another one names.
bool is_digest(const std::string& option);

/// Of the options of trainings, those that are described with this mark.
const std::set<std::string>& options_with(core::OptionMark mark);

}  // namespace paragrad::runs
