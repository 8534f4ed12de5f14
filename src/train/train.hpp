#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/worker.hpp"
#include "train/input/worker_input.hpp"
#include "train/learners/learner.hpp"
#include "train/output.hpp"
#include "train/result.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Trains on this worker together with its peers, which make the same call.
/// With tensor_parallel = p the workers k·p … k·p+p-1 hold replica k together, and the strategy runs among the workers that
/// hold the same part (p independent groups).
/// Returns the same scores on every worker. The output folder's checkpoint finally holds the final model.
/// On a device that does not compute, the same calls and messages take the same simulated time, but nothing is trained.
/// Throws ConfigError if the loss is no longer finite (the checkpoint is then that of the last good epoch).
/// Pretrains the layers first if options.pretraining asks for it (pretraining.hpp).
Result train(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const Output& output);

/// The same for any learner, one replica per worker; without pretraining. initial: the initial parameters; empty:
/// options.init, or random from the seed.
Result train(comm::Worker& worker, const TrainingOptions& options, const WorkerInput& input, const MakeLearner& make_learner,
             const Output& output, std::span<const float> initial = {});

/// Called instead of train() on the server ranks, which follow the workers' ranks: serves until training has ended.
void serve(comm::Worker& all_ranks, int workers, const TrainingOptions& options, const Output& output);

/// Which training of the run (see phases()) saved the state in the folder; nothing if there is no state. Throws ConfigError
/// if the state is damaged or belongs to another run than `run`, whose data are in options.data. rescales: another number of
/// workers has saved it, so only the data have to be the same.
std::optional<int> saved_phase(const std::string& state_folder, const TrainingOptions& options, const RunIdentity& run,
                               bool rescales = false);

/// The number of workers that saved the state in the folder; 0: there is none. Throws ConfigError if it is damaged.
int saved_workers(const std::string& state_folder);

/// Throws ConfigError if the rules of rescaling do not cover these options: no state of theirs can be resumed by another
/// number of workers.
void require_rescalable(const TrainingOptions& options);

/// Removes the state of a run that is complete and recorded as such. Throws ConfigError.
void remove_state(const std::string& state_folder);

/// Scores a model, the samples divided among the workers.
Score evaluate(comm::Worker& worker, const TrainingOptions& options, std::span<const float> parameters,
               const WorkerInput& input, data::Subset subset);

}  // namespace paragrad::train
