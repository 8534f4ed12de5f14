#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/worker.hpp"
#include "metrics/progress.hpp"
#include "metrics/run_folder.hpp"
#include "train/learner.hpp"
#include "train/options.hpp"
#include "train/source.hpp"

namespace paragrad::train {

/// Seconds of one worker (wall-clock or virtual) by what it did, as in Table 4 of the BMUF slides.
struct PhaseTimes {
  double optimise_s = 0;   ///< minibatches
  double aggregate_s = 0;  ///< agreeing with the others, waiting for them included
  double validate_s = 0;
  double data_s = 0;  ///< waiting for samples, between the blocks
};

struct Result {
  bool timing_only = false;       ///< the device does not compute: times and counts, no scores and no model
  std::string parameters_sha256;  ///< of the final model; worker 0 only
  Score train;                    ///< of the last sweep, as met during training
  Score valid;
  Score test;
  PhaseTimes times;           ///< of worker 0, all sweeps
  double training_s = 0;      ///< from the first minibatch to the last validation
  double data_wait_s = 0;     ///< wall-clock time that worker 0 waited for the loader, whatever the run's clock
  std::uint64_t samples = 0;  ///< processed by all workers
  std::vector<std::pair<std::string, double>> strategy;  ///< what the strategy says of the run, before it and after it
};

/// Where worker 0 reports to; all may be null.
struct Output {
  metrics::RunFolder* folder = nullptr;
  metrics::Progress* progress = nullptr;
};

/// Trains on this worker, together with its peers: the same call on each of them. `output` is used by worker 0 only.
/// Returns the same scores on every worker. The checkpoint in the output folder ends as the final model.
/// On a device that does not compute the same calls and messages take the same virtual time, and nothing else happens.
/// Throws ConfigError when the loss is no longer finite (the checkpoint is then that of the last good sweep).
Result train(comm::Worker& worker, const Options& options, const Source& source, const Output& output);

/// Scores a model, the samples divided among the workers.
Score evaluate(comm::Worker& worker, const Options& options, std::span<const float> parameters, const Source& source,
               data::Subset subset);

}  // namespace paragrad::train
