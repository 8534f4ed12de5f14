#pragma once

#include <string>

#include "core/json_fwd.hpp"

namespace paragrad::runs {

/// The option with the hash of a strategy's source.
inline constexpr const char* source_digest_option = "python-source-sha256";

/// What a strategy consists of whose code is not the program's, for the run's manifest: the text of a JSON object whose
/// `parts` are hashes by the name of a function or constant. "": the strategy is the program's own. Set before a command
/// runs in this process, as options cannot carry it; the hash of it all is an option.
void set_strategy_source(const std::string& record);

/// null: the program's own.
core::Json strategy_source();

/// The same of a model; the network's name has its hash.
void set_model_source(const std::string& record);
core::Json model_source();

/// The names of the parts that have changed since the run in this folder began, added and removed ones included:
/// "Gossip.step and DECAY".
std::string changed_parts(const core::Json& manifest);

}  // namespace paragrad::runs
