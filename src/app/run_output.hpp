#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/training.hpp"
#include "metrics/run_folder.hpp"

namespace paragrad::app {

/// Of a run's config.toml, the options that say what is computed, as they are written there. None without that file.
std::map<std::string, std::string> options_of(const std::string& run_folder);

/// Whether --resume was given and the run in --out is complete: then there is nothing left to do. Throws ConfigError if that
/// run had other options.
bool is_complete(const TrainingArguments& arguments, const std::string& config);

/// Prints that there is nothing to resume, and removes what the run may have left of its state. Returns the exit code.
int say_complete(const TrainingArguments& arguments);

/// After the manifest of a run that is complete was written: its state is not needed any more.
void remove_state(const TrainingArguments& arguments);

/// What a state that is saved, or resumed from, belongs to; nothing of it where the run does neither.
train::RunIdentity identity_of(const TrainingArguments& arguments, const std::string& config,
                               const train::TrainingData& source);

struct OpenedRun {
  std::optional<metrics::RunFolder> folder;  ///< with config.toml written; nothing without --out
  std::optional<int> resume_phase;           ///< as train::Output has it
};

/// Locks and opens the folder of the run. With --resume a run that was interrupted is continued, if options and data are the
/// same. clock: of the times in an event file, if there is to be one. Throws ConfigError that names what differs; the state
/// and the records are then as they were.
OpenedRun open_run(const TrainingArguments& arguments, const std::string& config, const train::RunIdentity& run,
                   metrics::EventFile::Clock clock);

/// The options of a run that was opened: the order of asynchronous workers is recorded of whole runs only. progress: where
/// that is printed; may be null.
train::TrainingOptions options_to_train(train::TrainingOptions options, const OpenedRun& opened,
                                        metrics::Progress* progress);

/// Where the training reports to, and keeps its state.
train::Output output_of(const TrainingArguments& arguments, OpenedRun& opened, const train::RunIdentity& run,
                        metrics::Progress* progress);

}  // namespace paragrad::app
