#pragma once

#include <vector>

#include "app/training.hpp"
#include "comm/mpi/mpi_session.hpp"

namespace paragrad::app {

/// Of strategies with a parameter server.
void add_server_options(CLI::App& parser, TrainingArguments& arguments);

/// Throws ConfigError: options that the strategy cannot heed.
void check_server_arguments(const TrainingArguments& arguments);

/// The run's options, complete with what servers have to know of the run: where their order is recorded, or the one to be
/// kept. Throws ConfigError where that is the order of another run.
train::TrainingOptions with_servers(const TrainingArguments& arguments, const train::TrainingData& source, int workers);

/// How many of `ranks` train: all but the servers. Throws ConfigError if that leaves nobody.
int workers_of(const train::TrainingOptions& options, int ranks);

/// Whether the ranks of such a run can go on when one of them is killed.
comm::MpiSession::Deaths deaths_of(const train::TrainingOptions& options);

/// A worker that the others went on without.
struct LostWorker {
  int rank = 0;
  bool died = false;  ///< seen by those on its node alone
};

/// Of all ranks the first `workers` train, among themselves, and those behind them serve until that has ended. Returns the
/// workers that were left out, where this rank trained to the end.
std::vector<LostWorker> run_role(comm::Worker& all_ranks, int workers, const train::TrainingOptions& options,
                                 const train::Output& output, const std::function<void(comm::Worker&)>& train);

/// One line on stdout for each.
void print_lost(const std::vector<LostWorker>& lost);

/// One line on stdout where saving the state has changed the result of an emulated run. A state can be taken up only from a
/// moment at which all workers stand still. Those of a parameter server never do of themselves, so they meet to save it;
/// that takes simulated time, and afterwards servers serve them in another order.
void print_cost_of_states(const TrainingArguments& arguments);

}  // namespace paragrad::app
