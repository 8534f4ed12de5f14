#pragma once

#include <vector>

#include "comm/mpi/mpi_session.hpp"
#include "runs/training.hpp"

namespace paragrad::runs {

/// The run's options, completed with what servers need: the file to record their order in, or the order to replay. Throws
/// ConfigError if that order belongs to another run.
train::TrainingOptions with_servers(const TrainingArguments& arguments, const train::TrainingData& source, int workers);

/// Number of dedicated server ranks, and the time after which a silent worker is dropped.
int servers_of(const train::TrainingOptions& options);
double worker_timeout_s(const train::TrainingOptions& options);

/// Number of `ranks` that train: all but the servers. Throws ConfigError if none is left.
int workers_of(const train::TrainingOptions& options, int ranks);

/// Whether the other ranks of such a run can continue when one is killed.
comm::MpiSession::Deaths deaths_of(const train::TrainingOptions& options);

/// A worker without which the others continued.
struct LostWorker {
  int rank = 0;
  bool died = false;  ///< detected only on its own node
};

/// The first `workers` ranks train among themselves; the ranks after them serve until training ends. Returns the workers
/// that were dropped, if this rank trained to the end.
std::vector<LostWorker> run_role(comm::Worker& all_ranks, int workers, const train::TrainingOptions& options,
                                 const train::Output& output, const std::function<void(comm::Worker&)>& train);

/// Prints one line per lost worker on stdout.
void print_lost(const std::vector<LostWorker>& lost);

/// Prints one line on stdout if saving checkpoints changed the result of an emulated run. A run can be resumed only from a
/// moment at which all workers are idle. Workers of a parameter server are never idle together, so they synchronise to save
/// a checkpoint; that takes simulated time and changes the order in which servers process requests afterwards.
void print_cost_of_states(const TrainingArguments& arguments);

}  // namespace paragrad::runs
