#pragma once

#include <string>

#include "core/json_fwd.hpp"
#include "runs/training.hpp"
#include "train/input/training_data.hpp"
#include "train/result.hpp"

namespace paragrad::runs {

/// A run's manifest before it starts: program, libraries, host, data, seed, workers.
core::Json manifest(const TrainingArguments& arguments, const train::TrainingData& source, const std::string& world,
                    int workers);

/// Adds the entries known at the end, including "result".
void finish_manifest(core::Json& manifest, const train::Result& result, double wall_s);

/// The last record of metrics.jsonl, which depends on the training only.
core::Json end_record(const train::Result& result);

/// Prints scores, times and hash for the user, and whether the training loss is worse than that of a model that has learned
/// nothing. world: as in worlds::Job::finish.
void print_result(const TrainingArguments& arguments, const train::Result& result, const train::TrainingData& source,
                  const core::Json& world);

}  // namespace paragrad::runs
