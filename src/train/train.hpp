#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/worker.hpp"
#include "train/input/training_data.hpp"
#include "train/learners/learner.hpp"
#include "train/output.hpp"
#include "train/result.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Trains on this worker, together with its peers: the same call on each of them.
/// With tensor_parallel = p the workers k·p … k·p+p-1 hold replica k together, and the strategy is among those that hold the
/// same part (p groups side by side).
/// Returns the same scores on every worker. The checkpoint in the output folder ends as the final model.
/// On a device that does not compute the same calls and messages take the same simulated time, and nothing else happens.
/// Throws ConfigError when the loss is no longer finite (the checkpoint is then that of the last good epoch).
/// Before the network its layers are trained, if options.pretraining says so (pretraining.hpp).
Result train(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source, const Output& output);

/// The same for whatever make_learner makes, one replica to a worker; without pretraining. initial: what to begin with;
/// empty: options.init, or what the seed gives.
Result train(comm::Worker& worker, const TrainingOptions& options, const TrainingData& source,
             const MakeLearner& make_learner, const Output& output, std::span<const float> initial = {});

/// On a rank behind those of the workers, instead of training: serves until that has ended.
void serve(comm::Worker& all_ranks, int workers, const TrainingOptions& options, const Output& output);

/// Which training of a run (see phases()) was interrupted and left its state there; nothing where there is none. Throws
/// ConfigError for a damaged state, and for one of another run than `run`, whose data are in options.data.
std::optional<int> saved_phase(const std::string& state_folder, const TrainingOptions& options, const RunIdentity& run);

/// Removes the state of a run that is complete, and recorded as such. Throws ConfigError.
void remove_state(const std::string& state_folder);

/// Scores a model, the samples divided among the workers.
Score evaluate(comm::Worker& worker, const TrainingOptions& options, std::span<const float> parameters,
               const TrainingData& source, data::Subset subset);

}  // namespace paragrad::train
