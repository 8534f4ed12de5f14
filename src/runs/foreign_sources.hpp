#pragma once

#include <map>
#include <string>

#include "core/json_fwd.hpp"

namespace paragrad::runs {

/// The option with the hash of a strategy's source.
inline constexpr const char* source_digest_option = "python-source-sha256";

/// What things in Python consist of, whose code is not the program's, for the run's manifest: by its key there, such as
/// `strategy_source`, the text of a JSON object whose `parts` are hashes by the name of a function or constant. Set before a
/// command runs in this process, as options cannot carry them; the hash of each as a whole is in an option.
void set_foreign_sources(const std::map<std::string, std::string>& records);

/// An object, empty if everything is the program's own.
core::Json foreign_sources();

/// The names of the strategy's parts that have changed since the run in this folder began, added and removed ones included:
/// "Gossip.step and DECAY".
std::string changed_parts(const core::Json& manifest);

}  // namespace paragrad::runs
