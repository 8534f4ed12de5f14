#pragma once

#include <string>

#include "app/training.hpp"
#include "core/json.hpp"
#include "train/input/training_data.hpp"
#include "train/result.hpp"

namespace paragrad::app {

/// What a run's manifest says before it starts: program, libraries, host, data, seed, workers.
core::Json manifest(const TrainingArguments& arguments, const train::TrainingData& source, const std::string& world,
                    int workers);

/// Adds what is known at the end, "result" among it.
void finish_manifest(core::Json& manifest, const train::Result& result, double wall_s);

/// The last record of metrics.jsonl, a function of the training alone.
core::Json end_record(const train::Result& result);

/// Scores, times and hash for the user.
void print_result(const TrainingArguments& arguments, const train::Result& result, const std::string& clock);

}  // namespace paragrad::app
