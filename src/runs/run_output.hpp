#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"
#include "metrics/run_folder.hpp"
#include "runs/run_options.hpp"
#include "runs/training.hpp"

namespace paragrad::runs {

/// Whether --resume was given and the run in --out is complete, so that nothing is left to do. Throws ConfigError if that
/// run had other options.
bool is_complete(const TrainingArguments& arguments, const std::string& config);

/// A configuration in the spelling of the run that it resumes, which may have written 1 for true or .5 for 0.5: their text
/// identifies its state.
std::string spelt_as_before(const TrainingArguments& arguments, const std::string& config);

/// Throws ConfigError if --out has a run with other options.
void require_same_run(const TrainingArguments& arguments, const std::string& config);

/// Throws ConfigError if --resume finds a state in --out whose run began with another checkpoint of the same path (--init).
/// manifest: of the run that is to continue.
void require_same_start(const TrainingArguments& arguments, const core::Json& manifest);

/// Prints that there is nothing to resume and removes any leftover state of the run. Returns the exit code.
int say_complete(const TrainingArguments& arguments);

/// Call after writing the manifest of a complete run, which no longer needs its state.
void remove_state(const TrainingArguments& arguments);

/// Identifies the run that a saved state belongs to; empty if the run neither saves nor resumes.
train::RunIdentity identity_of(const TrainingArguments& arguments, const std::string& config,
                               const train::TrainingData& source);

/// Of the run in --out; empty without that.
std::string state_folder(const TrainingArguments& arguments);

struct OpenedRun {
  std::optional<metrics::RunFolder> folder;  ///< with config.toml written; empty without --out
  std::optional<int> resume_phase;           ///< see train::Output
  int rescaled_from = 0;                     ///< number of workers that saved the state, if it was another; 0: it was not
  core::Json rescalings;                     ///< of the run so far, for its manifest
};

/// Locks and opens the run folder. With --resume, an interrupted run is continued if options and data are the same; with
/// --rescale, some options may differ if the state was not saved by `workers` workers. clock: the clock of the times in an
/// event file, if one is written. Throws a ConfigError that names what differs, and then leaves
/// the state and the records unchanged.
OpenedRun open_run(const TrainingArguments& arguments, const std::string& config, const train::RunIdentity& run, int workers,
                   metrics::EventFile::Clock clock);

/// The options to train an opened run with: the order of asynchronous workers is recorded for whole runs only. progress:
/// prints a note about that; may be null.
train::TrainingOptions options_to_train(train::TrainingOptions options, const OpenedRun& opened,
                                        metrics::Progress* progress);

/// Where the training reports to and saves its state.
train::Output output_of(const TrainingArguments& arguments, OpenedRun& opened, const train::RunIdentity& run,
                        metrics::Progress* progress);

}  // namespace paragrad::runs
