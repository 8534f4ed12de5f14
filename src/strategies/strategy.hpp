#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/worker.hpp"
#include "core/layout.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"
#include "optim/local_optimiser.hpp"
#include "strategies/parameter_server/server_options.hpp"

namespace paragrad::strategies {

/// The part of a worker's replica that a strategy may access.
struct Replica {
  std::span<float> parameters;
  std::span<const core::Matrix> layout;  ///< of the parameters
  std::span<const core::Range> stages;   ///< in which the backward pass completes an exchanged gradient
  optim::LocalOptimiser& optimiser;
  optim::Step step;          ///< of the current minibatch
  double learning_rate = 0;  ///< the schedule's in this epoch, in its own unit: the same on all workers
};

/// The size of a training.
struct Extent {
  int workers = 1;
  double samples = 0;  ///< of the training set
  double blocks = 1;   ///< per epoch
};

/// A strategy's remarks on a run: lines for the user, and the same as numbers for the run's record.
struct Remarks {
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, double>> numbers;
};

/// The unit of data that the workers divide among themselves.
enum class Share {
  minibatch,  ///< each minibatch: together they compute what one worker would compute
  block,      ///< each block: one split per worker, each with its own minibatches
  epoch       ///< each epoch: its splits, block after block, each to the next free worker (Strategy::take)
};

/// A distributed optimiser: how the workers synchronise. One object per worker; all workers make the same calls in the same
/// order. A strategy reaches other workers only through the communicator, so it is written once for MPI and the simulator.
///
/// The training loop, per block and worker:
///
///   for each minibatch:
///     local:       backward pass and update
///     exchanging:  backward pass in stages, each announcing the part of the gradient it completed (gradient_ready); step
///   synchronise
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual Share share() const = 0;

  /// Whether gradients are exchanged before they are used. If not, workers update their replicas locally between two
  /// synchronisations, and the loop runs all minibatches of a split as one computation; if minibatches are shared, each
  /// worker then steps on its part. Before the first epoch: whether they ever are.
  virtual bool exchanges_gradients(int /*workers*/) const { return false; }

  /// Whether workers synchronise at the end of each block, so that their state can be saved there; if not, they do so at the
  /// end of each epoch, in show_model.
  virtual bool meets_at_blocks() const { return true; }

  /// What the options amount to in a training of this size; called before it starts.
  virtual Remarks explain(const Extent&) const { return {}; }

  /// Remarks after the last epoch. All workers call it, after show_model.
  virtual Remarks report(comm::Worker&) { return {}; }

  /// Called with the starting point in Replica.parameters, the same on all workers; also when training goes back to an older
  /// model. Throws ConfigError if the strategy cannot run with this many workers.
  virtual void start(comm::Worker&, Replica&) {}

  /// Called before each epoch, counted from 1: a strategy may change its behaviour between epochs. exchanges_gradients() is
  /// called again afterwards.
  virtual void begin_epoch(comm::Worker&, Replica&, int /*epoch*/) {}

  /// Share::epoch: the number, within the epoch, of the next split for this worker.
  virtual std::size_t take(comm::Worker&) { throw std::logic_error("this strategy gives out no splits"); }

  /// Sums a few numbers (counts, losses) over the workers, in rank order. False: a worker was lost meanwhile and ranks have
  /// changed; discard the sums, let each worker redo its part, and call again.
  virtual bool add_up(comm::Worker& worker, std::span<double> values) {
    comm::sum_in_rank_order(worker.comm(), values);
    return true;
  }

  /// This worker's part of the strategy's state, carried from block to block.
  virtual void describe_state(core::StateView&) {}

  /// For strategies with state elsewhere (on servers). All workers call them: collect_state before a state is saved,
  /// spread_state after one was restored.
  virtual void collect_state(comm::Worker&, Replica&) {}
  virtual void spread_state(comm::Worker&, Replica&) {}

  /// Whether the strategy can use server ranks, which follow the workers' ranks: ServerOptions::servers.
  virtual bool has_servers() const { return false; }

  /// Called on a server rank instead of training; returns when the workers, ranks 0 to workers - 1, have finished training.
  virtual void serve(comm::Worker& /*all_ranks*/, int /*workers*/) {
    throw std::logic_error("this strategy has no servers");
  }

  /// Exchanging strategies: the minimum number of gradient elements that a stage of the backward pass should complete.
  virtual std::size_t stage_elements() const { return std::numeric_limits<std::size_t>::max(); }

  /// Exchanging strategies: called when a range of the gradient is complete while the backward pass continues below it, so
  /// that its exchange can be launched. Ranges come from the gradient's end to its beginning, the same on all workers and in
  /// every minibatch.
  virtual void gradient_ready(comm::Worker&, Replica&, core::Range) {}

  /// Exchanging strategies, after the backward pass of a minibatch: finish the exchange and update the parameters.
  virtual void step(comm::Worker&, Replica&) {}

  /// Called at the end of a block, in which this worker processed `samples` samples (possibly none).
  virtual void synchronise(comm::Worker&, Replica&, std::size_t /*samples*/) {}

  /// Puts the trained model W into the parameters, if workers start from another point (Nesterov's look-ahead), so that
  /// evaluation and checkpoints see W. resume_work restores the starting point, bit for bit.
  virtual void show_model(comm::Worker&, Replica&) {}
  virtual void resume_work(comm::Worker&, Replica&) {}
};

struct StrategyOptions {
  std::string collective = "ring";
  std::string bmuf_kind = "nbm";                   ///< cbm, nbm or nbm_cntk
  std::optional<double> block_momentum;            ///< η; default 1 - 1/N
  double block_momentum_time_constant = 0;         ///< samples per worker, instead of η; 0: none
  double block_learning_rate = 1;                  ///< ζ, the weight of the averaged update
  std::string block_learning_rate_form = "paper";  ///< or cntk: asymptotic weight of the summed updates
  double slow_momentum = 0.5;                      ///< slowmo: β
  double slow_learning_rate = 1;                   ///< slowmo: α
  double outer_learning_rate = 0.7;                ///< diloco
  double outer_momentum = 0.9;                     ///< diloco
  bool reset_local_momentum = true;                ///< at each synchronisation that changed the model
  std::size_t bucket_bytes = 0;                    ///< minimum size of gradients exchanged at once; 0: all
  comm::CompressionOptions compression;            ///< of exchanged gradients
  bool buffered = false;                           ///< apply a gradient one minibatch late, exchanging it meanwhile
  bool overlap = true;                             ///< exchange a bucket during the backward pass
  int local_start_epoch = 2;                       ///< post_local_sgd: the first epoch of local SGD
  ServerOptions server;                            ///< of strategies with servers
};

/// From strategies/catalogue.def. Throws ConfigError for unknown names and values out of range.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options);

struct StrategyEntry {
  std::string name;
  std::string options;  ///< options that this strategy uses but not all do, separated by spaces
  std::string description;
};
std::vector<StrategyEntry> strategy_catalogue();

}  // namespace paragrad::strategies
