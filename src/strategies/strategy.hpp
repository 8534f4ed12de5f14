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

/// What a strategy may touch of a worker's replica.
struct Replica {
  std::span<float> parameters;
  std::span<const core::Matrix> layout;  ///< of the parameters
  std::span<const core::Range> stages;   ///< in which the backward pass completes the gradient, where it is exchanged
  optim::LocalOptimiser& optimiser;
  optim::Step step;          ///< of the minibatch in hand
  double learning_rate = 0;  ///< the schedule's in this epoch, whatever its unit: the same on all workers
};

/// The size of a training.
struct Extent {
  int workers = 1;
  double samples = 0;  ///< of the training set
  double blocks = 1;   ///< per epoch
};

/// What a strategy has to say about a run: lines for the user, and the same as numbers for the run's record.
struct Remarks {
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, double>> numbers;
};

/// What the workers divide among themselves.
enum class Share {
  minibatch,  ///< each minibatch: together they compute what one worker would compute
  block,      ///< each block: a split for all_ranks, minibatches of its own
  epoch       ///< each epoch: its splits, block after block, each for the worker that is free next (Strategy::take)
};

/// How workers agree: a distributed optimiser. One object per worker; all workers make the same calls in the same order, and
/// a strategy talks to the others through the communicator alone, so it is written once for both worlds.
///
/// The training loop, per block and worker:
///
///   for each minibatch:
///     local:       backward pass and update
///     exchanging:  backward pass in stages, each announcing what it finished of the gradient (gradient_ready); step
///   synchronise
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual Share share() const = 0;

  /// Are gradients exchanged before they are used? If not, workers update their replicas by themselves between two
  /// synchronisations, and the loop runs all minibatches of a split as one computation; of minibatches that are shared each
  /// worker then steps on its part. Before the first epoch: are they ever?
  virtual bool exchanges_gradients(int /*workers*/) const { return false; }

  /// Whether workers meet at the end of each block, so that what they are can be written down there; if not, they do at the
  /// end of each epoch, in show_model.
  virtual bool meets_at_blocks() const { return true; }

  /// What its options amount to in a training of this size; before it starts.
  virtual Remarks explain(const Extent&) const { return {}; }

  /// What is to be known after the last epoch. All workers call it, after show_model.
  virtual Remarks report(comm::Worker&) { return {}; }

  /// Replica.parameters holds the starting point, the same on all workers. Also called when training goes back to an older
  /// model. Throws ConfigError if the strategy cannot run with this many workers.
  virtual void start(comm::Worker&, Replica&) {}

  /// Before each epoch, counted from 1: a strategy may do one thing in the first epochs and another later.
  /// exchanges_gradients() is asked again after it.
  virtual void begin_epoch(comm::Worker&, Replica&, int /*epoch*/) {}

  /// Share::epoch: the number of the next split for this worker, of those of the epoch.
  virtual std::size_t take(comm::Worker&) { throw std::logic_error("this strategy gives out no splits"); }

  /// Sums a few numbers over the workers, in their order: counts, losses. False: some worker was lost meanwhile, the ranks
  /// are others now, and the sums are not to be used; each is then to do its part anew, and to ask again.
  virtual bool add_up(comm::Worker& worker, std::span<double> values) {
    comm::sum_in_rank_order(worker.comm(), values);
    return true;
  }

  /// What this worker's part of the strategy remembers from block to block.
  virtual void describe_state(core::StateView&) {}

  /// For strategies that keep something elsewhere. All workers call them: before a state is described that is to be kept,
  /// and after one was put back.
  virtual void collect_state(comm::Worker&, Replica&) {}
  virtual void spread_state(comm::Worker&, Replica&) {}

  /// Whether ranks behind those of the workers may serve: ServerOptions::servers.
  virtual bool has_servers() const { return false; }

  /// On such a rank, instead of training: returns when the training of the workers, ranks 0 to workers - 1, has ended.
  virtual void serve(comm::Worker& /*all_ranks*/, int /*workers*/) {
    throw std::logic_error("this strategy has no servers");
  }

  /// Exchanging strategies: elements of the gradient that a stage of the backward pass shall complete at least.
  virtual std::size_t stage_elements() const { return std::numeric_limits<std::size_t>::max(); }

  /// Exchanging strategies: a range of the gradient is complete and the backward pass goes on below it, so this is the time
  /// to launch its exchange. Ranges come from the gradient's end to its beginning, the same on all workers and in every
  /// minibatch.
  virtual void gradient_ready(comm::Worker&, Replica&, core::Range) {}

  /// Exchanging strategies, after the backward pass of a minibatch: agree on the gradient and update the parameters.
  virtual void step(comm::Worker&, Replica&) {}

  /// End of a block, in which this worker processed `samples` (possibly none).
  virtual void synchronise(comm::Worker&, Replica&, std::size_t /*samples*/) {}

  /// Puts the trained model W into the parameters, where workers set out from another point (Nesterov's look-ahead); then
  /// evaluation and checkpoints see W. resume_work puts the starting point back, bit for bit.
  virtual void show_model(comm::Worker&, Replica&) {}
  virtual void resume_work(comm::Worker&, Replica&) {}
};

struct StrategyOptions {
  std::string collective = "ring";
  std::string bmuf_kind = "nbm";                   ///< cbm, nbm or nbm_cntk
  std::optional<double> block_momentum;            ///< η; default 1 - 1/N
  double block_momentum_time_constant = 0;         ///< samples per worker, instead of η; 0: none
  double block_learning_rate = 1;                  ///< ζ, the weight of the mean update
  std::string block_learning_rate_form = "paper";  ///< cntk: in the end the weight of the workers' updates together
  double slow_momentum = 0.5;                      ///< slowmo: β
  double slow_learning_rate = 1;                   ///< slowmo: α
  double outer_learning_rate = 0.7;                ///< diloco
  double outer_momentum = 0.9;                     ///< diloco
  bool reset_local_momentum = true;                ///< at each synchronisation that moved the model
  std::size_t bucket_bytes = 0;                    ///< gradients exchanged at once, at least; 0: all
  comm::CompressionOptions compression;            ///< of exchanged gradients
  bool buffered = false;                           ///< apply a gradient one minibatch late, so that it may travel meanwhile
  bool overlap = true;                             ///< exchange a bucket while the backward pass goes on
  int local_start_epoch = 2;                       ///< post_local_sgd: the first whose gradients are not exchanged
  ServerOptions server;                            ///< of strategies with servers
};

/// From strategies/catalogue.def. Throws ConfigError for unknown names and values out of range.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options);

struct StrategyEntry {
  std::string name;
  std::string options;  ///< names of those that it uses and not every strategy does, separated by spaces
  std::string description;
};
std::vector<StrategyEntry> strategy_catalogue();

}  // namespace paragrad::strategies
