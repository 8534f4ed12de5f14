#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/training.hpp"
#include "metrics/run_folder.hpp"

namespace paragrad::app {

/// Of a run's config.toml, the options that say what is computed, as they are written there. None without that file.
std::map<std::string, std::string> options_of(const std::string& run_folder);

/// Whether --resume was given and the run in --out is complete: then there is nothing left to do.
bool is_complete(const TrainingArguments& arguments);

int say_complete(const TrainingArguments& arguments);

/// The run's folder, with config.toml written; nothing without --out. With --resume a run that was interrupted is continued,
/// if it has the same options. clock: of the times in an event file, if there is to be one. Throws ConfigError that names
/// the first option that differs.
std::optional<metrics::RunFolder> open_run_folder(const TrainingArguments& arguments, const std::string& config,
                                                  metrics::EventFile::Clock clock);

/// Where the training reports to, and keeps its state.
train::Output output_of(const TrainingArguments& arguments, metrics::RunFolder* folder, metrics::Progress* progress);

}  // namespace paragrad::app
