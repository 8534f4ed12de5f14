#pragma once

#include <map>
#include <set>
#include <string>

#include "core/option_info.hpp"

namespace paragrad::runs {

/// Options by name, with values as in config.toml.
using RunOptions = std::map<std::string, std::string>;

/// The options in the text of a config.toml that determine what is computed.
RunOptions options_in(const std::string& config);

/// Those in a run's config.toml. Empty without that file.
RunOptions options_of(const std::string& run_folder);

/// Without the seed, and with {seed} for it in the folder and the file that `init` names: equal for runs that differ only
/// in their seed.
RunOptions without_seed(RunOptions options);

/// Of the AnyWorldArguments, the options that are described with this mark.
const std::set<std::string>& options_with(core::OptionMark mark);

}  // namespace paragrad::runs
