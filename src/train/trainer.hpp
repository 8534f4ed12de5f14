#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/worker.hpp"
#include "data/dataset.hpp"
#include "data/loader.hpp"
#include "data/partition.hpp"
#include "metrics/progress.hpp"
#include "metrics/run_folder.hpp"
#include "train/options.hpp"

namespace paragrad::train {

/// Seconds of one worker (wall-clock or virtual) by what it did, as in Table 4 of the BMUF slides.
struct PhaseTimes {
  double optimise_s = 0;   ///< minibatches
  double aggregate_s = 0;  ///< agreeing with the others, waiting for them included
  double validate_s = 0;
};

/// Loss per sample and share of samples in error; NaN for an empty subset.
struct Score {
  double loss = 0;
  double error = 0;
};

struct Result {
  std::string parameters_sha256;  ///< of the final model; worker 0 only
  Score train;                    ///< of the last sweep, as met during training
  Score valid;
  Score test;
  PhaseTimes times;           ///< of worker 0, all sweeps
  double training_s = 0;      ///< from the first minibatch to the last validation
  double data_wait_s = 0;     ///< wall-clock time that worker 0 waited for the loader
  std::uint64_t samples = 0;  ///< processed by all workers
};

/// Training data of one process, shared by its workers.
struct Source {
  std::shared_ptr<const data::Dataset> dataset;
  std::shared_ptr<const data::Partition> partition;
  std::shared_ptr<data::Prefetcher> prefetcher;
};

/// Opens the data and takes the partition N×M with the run's seed from the file, or makes the one that would be stored
/// there. Throws ConfigError, also for a model that does not fit the data.
Source open_source(const Options& options, int workers);

/// The same without a partition: enough to evaluate.
Source open_evaluation(const Options& options);

/// Where worker 0 reports to; all may be null.
struct Output {
  metrics::RunFolder* folder = nullptr;
  metrics::Progress* progress = nullptr;
};

/// Trains on this worker, together with its peers: the same call on each of them. `output` is used by worker 0 only.
/// Returns the same scores on every worker. The checkpoint in the output folder ends as the final model.
/// Throws ConfigError when the loss is no longer finite (the checkpoint is then that of the last good sweep).
Result train(comm::Worker& worker, const Options& options, const Source& source, const Output& output);

/// Scores a model, the samples divided among the workers.
Score evaluate(comm::Worker& worker, const Options& options, std::span<const float> parameters, const Source& source,
               data::Subset subset);

}  // namespace paragrad::train
