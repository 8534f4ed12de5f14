#pragma once

#include <string>

#include "cli/command.hpp"
#include "core/options.hpp"

namespace paragrad::worlds {

// Options of several commands.
core::DescribedOption describe_device(core::OptionList& list, std::string& device);
core::DescribedOption describe_platform(core::OptionList& list, std::string& platform);
core::DescribedOption describe_network(core::OptionList& list, std::string& network);
core::DescribedOption describe_oversubscribe(core::OptionList& list, bool& oversubscribe);
/// out: the run folder, if one is given.
core::DescribedOption describe_overwrite(core::OptionList& list, bool& overwrite, const std::string& out);

/// Refuses activation functions by the names of other programs, with the name here.
void check_activations(CLI::Option& model);

}  // namespace paragrad::worlds
