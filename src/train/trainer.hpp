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
#include "train/times.hpp"

namespace paragrad::train {

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
  double pretraining_s = 0;   ///< before that
  std::uint64_t pretraining_samples = 0;
  std::vector<float> model;                              ///< of a training that another of the run follows
  int sweeps = 0;                                        ///< that were trained
  std::vector<std::pair<std::string, double>> strategy;  ///< what the strategy says of the run, before it and after it
};

/// Where a training reports to: worker 0, and every worker its state.
struct Output {
  metrics::RunFolder* folder = nullptr;   ///< may be null
  metrics::Progress* progress = nullptr;  ///< may be null
  std::string state_folder{};             ///< for what is needed to take the run up again; "": nowhere
  std::size_t state_every_blocks = 0;     ///< besides at the end of each sweep; 0: never, there neither
  bool resume = false;                    ///< go on from what is in state_folder, if there is anything
  int phase = 0;                          ///< which of the run's trainings it is, see phases()
  bool last_phase = true;                 ///< the network's: writes checkpoints, and the state can go at its end
};

/// Trains on this worker, together with its peers: the same call on each of them.
/// With model_parallel = p the workers k·p … k·p+p-1 hold replica k together, and the strategy is among those that hold the
/// same part (p groups side by side).
/// Returns the same scores on every worker. The checkpoint in the output folder ends as the final model.
/// On a device that does not compute the same calls and messages take the same virtual time, and nothing else happens.
/// Throws ConfigError when the loss is no longer finite (the checkpoint is then that of the last good sweep).
/// Before the network its layers are trained, if options.pretraining says so (pretraining.hpp).
Result train(comm::Worker& worker, const Options& options, const Source& source, const Output& output);

/// The same for whatever make_learner makes, one replica to a worker; without pretraining. initial: what to begin with;
/// empty: options.init, or what the seed gives.
Result train(comm::Worker& worker, const Options& options, const Source& source, const MakeLearner& make_learner,
             const Output& output, std::span<const float> initial = {});

/// On a rank behind those of the workers, instead of training: serves until that has ended.
void serve(comm::Worker& everyone, int workers, const Options& options, const Output& output);

/// Whether a run that was interrupted left its state there, and which of its trainings was interrupted.
bool can_resume(const std::string& state_folder);
int saved_phase(const std::string& state_folder);

/// Scores a model, the samples divided among the workers.
Score evaluate(comm::Worker& worker, const Options& options, std::span<const float> parameters, const Source& source,
               data::Subset subset);

}  // namespace paragrad::train
