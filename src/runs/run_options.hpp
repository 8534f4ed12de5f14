#pragma once

#include <istream>
#include <map>
#include <set>
#include <string>

#include "core/option_info.hpp"
#include "runs/training.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::runs {

/// Options by name, with values as in config.toml.
using RunOptions = std::map<std::string, std::string>;

/// The options in the text of a config.toml that determine what is computed.
RunOptions options_in(std::istream& config);

/// Those in a run's config.toml. Empty without that file.
RunOptions options_of(const std::string& run_folder);

/// What a training can be given in either world. The two commands add options of their own, which no mark concerns.
struct AnyWorldArguments {
  TrainingArguments training;
  worlds::SimWorldArguments world;

  void describe(core::OptionList& list);
};

/// The options of these arguments that are described with this mark.
const std::set<std::string>& options_with(core::OptionMark mark);

}  // namespace paragrad::runs
