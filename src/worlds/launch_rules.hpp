#pragma once

#include <string>

#include "cli/command.hpp"

namespace paragrad::worlds {

/// Throws ConfigError if the workers of this training cannot share ranks, as they must when a rank is lost: a library's
/// collectives know one worker per rank.
void require_survivable(const CLI::App& training);

/// Why the training may end in other weights if its ranks change while it runs; "" if it does not. All exceptions to that
/// rule are here.
std::string dependence_on_ranks(const CLI::App& training);

}  // namespace paragrad::worlds
