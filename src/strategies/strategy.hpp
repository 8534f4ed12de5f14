#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/worker.hpp"
#include "core/arena.hpp"
#include "core/layout.hpp"
#include "core/options.hpp"
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
  optim::Step step;               ///< of the current minibatch
  double learning_rate = 0;       ///< the schedule's at the beginning of the block, in its own unit: the same on all workers
  core::Arena* memory = nullptr;  ///< of the parameters; the strategy may take it in its destructor
};

/// The size of a training, and who takes part in it.
struct Extent {
  int workers = 1;
  double samples = 0;            ///< of the training set
  double blocks = 1;             ///< per epoch
  double local_steps = 0;        ///< minibatches that a worker processes in a block
  double momentum = 0;           ///< of the local optimiser, per minibatch
  std::string_view optimiser{};  ///< the local optimiser's name
  std::size_t parameters = 0;
  std::span<const core::Matrix> layout{};            ///< of the parameters
  const comm::Communicator* communicator = nullptr;  ///< of the workers; null where there is none to ask
};

/// A strategy's remarks on a run: lines for the user, and the same as numbers for the run's record.
struct Remarks {
  std::vector<std::string> lines{};
  std::vector<std::pair<std::string, double>> numbers{};
  std::string collective{};  ///< how arrays are summed, and why; "" if the collective's name says it. In timing runs, too
};

/// The unit of data that the workers divide among themselves.
enum class Share {
  minibatch,  ///< each minibatch: together they compute what one worker would compute
  block,      ///< each block: one split per worker, each with its own minibatches
  epoch       ///< each epoch: its splits, block after block, each to the next free worker (ServedStrategy::take)
};

/// A distributed optimiser: how the workers synchronise. One object per worker; all workers make the same calls in the same
/// order. A strategy reaches other workers only through the communicator, so it is written once for MPI and the simulator.
///
/// The training loop, per block and worker:
///
///   for each minibatch:
///     local:       backward pass and update
///     exchanging:  backward pass in stages, each announcing the part of the gradient it completed (gradient_ready); step
///     meeting:     backward pass and update; after those minibatches that the strategy chooses, meet
///   synchronise
///
/// A strategy of this class alone is local: workers update their replicas on their own between two synchronisations, and the
/// loop runs all minibatches of a split as one computation; if minibatches are shared, each worker steps on its part.
class Strategy {
 public:
  explicit Strategy(Share share) : share_(share) {}
  virtual ~Strategy() = default;

  Share share() const { return share_; }

  /// What the options amount to in a training of this size; called before it starts.
  virtual Remarks explain(const Extent&) const { return {}; }

  /// Remarks after the last epoch. All workers call it, after show_model.
  virtual Remarks report(comm::Worker&) { return {}; }

  /// Called with the starting point in Replica.parameters, the same on all workers; also when training goes back to an older
  /// model. Throws ConfigError if the strategy cannot run with this many workers.
  virtual void start(comm::Worker&, Replica&) {}

  /// Called before each epoch, counted from 1: a strategy may change its behaviour between epochs.
  virtual void begin_epoch(comm::Worker&, Replica&, int /*epoch*/) {}

  /// Called at the end of a block, in which this worker processed `samples` samples (possibly none).
  virtual void synchronise(comm::Worker&, Replica&, std::size_t /*samples*/) {}

  /// Puts the trained model W into the parameters, if workers start from another point (Nesterov's look-ahead) or each from
  /// its own, so that evaluation and checkpoints see W. resume_work restores the starting point, bit for bit.
  virtual void show_model(comm::Worker&, Replica&) {}
  virtual void resume_work(comm::Worker&, Replica&) {}

  /// This worker's part of the strategy's state, carried from block to block.
  virtual void describe_state(core::StateView&) {}

 private:
  Share share_;
};

/// A local strategy that also meets between the minibatches of a block. Rounds are counted: one minibatch each, as many in a
/// block as its longest split has. A worker with fewer takes part in the later meetings without training.
///
/// The loop runs the minibatches between two meetings as one computation. synchronise() is not needed: a block ends with a
/// meeting. Replicas differ between meetings, so show_model() has to agree on a model.
class MeetingStrategy : public Strategy {
 public:
  MeetingStrategy() : Strategy(Share::block) {}

  /// Where a worker is in a block.
  struct Meeting {
    std::size_t round = 0;    ///< rounds of the block so far, the same on all workers
    std::size_t rounds = 0;   ///< of the block; at least 1
    std::size_t passed = 0;   ///< rounds since the last meeting or the beginning of the block
    std::size_t samples = 0;  ///< which this worker processed in them
  };

  /// The round, in (round, rounds], after which to meet next. The same on all workers.
  virtual std::size_t next_meeting(std::size_t round, std::size_t rounds) = 0;

  virtual void meet(comm::Worker&, Replica&, const Meeting& at) = 0;
};

/// A strategy that exchanges gradients before they are used, at least in some epochs.
class ExchangingStrategy : public Strategy {
 public:
  using Strategy::Strategy;

  /// Whether gradients are exchanged in the current epoch; before the first one, whether they ever are.
  virtual bool exchanges(int workers) const = 0;

  /// The minimum number of gradient elements that a stage of the backward pass should complete.
  virtual std::size_t stage_elements() const { return std::numeric_limits<std::size_t>::max(); }

  /// Called when a range of the gradient is complete while the backward pass continues below it, so that its exchange can be
  /// launched. Ranges come from the gradient's end to its beginning, the same on all workers and in every minibatch.
  virtual void gradient_ready(comm::Worker&, Replica&, core::Range) {}

  /// After the backward pass of a minibatch: finish the exchange and update the parameters.
  virtual void step(comm::Worker&, Replica&) = 0;
};

/// A strategy whose parameters lie on servers, which may have ranks of their own after the workers'
/// (ServerOptions::servers). Workers meet at the end of an epoch, in show_model; only there can their state be saved.
class ServedStrategy : public ExchangingStrategy {
 public:
  using ExchangingStrategy::ExchangingStrategy;

  /// Called on a server rank instead of training; returns when the workers, ranks 0 to workers - 1, have finished training.
  virtual void serve(comm::Worker& all_ranks, int workers) = 0;

  /// Share::epoch: the number, within the epoch, of the next split for this worker.
  virtual std::size_t take(comm::Worker&) = 0;

  /// Sums a few numbers (counts, losses) over the workers, in rank order. False: a worker was lost meanwhile and ranks have
  /// changed; discard the sums, let each worker redo its part, and call again.
  virtual bool add_up(comm::Worker& worker, std::span<double> values) = 0;

  /// After start(), for a training that one worker has begun alone: the servers' rule goes on with the state of the
  /// replica's optimiser, the same on all workers.
  virtual void hand_over(comm::Worker&, Replica&) = 0;

  /// State on servers. All workers call them: collect_state before a state is saved, spread_state after one was restored.
  virtual void collect_state(comm::Worker&, Replica&) = 0;
  virtual void spread_state(comm::Worker&, Replica&) = 0;
};

/// What a strategy is told about the run besides its options.
struct StrategyContext {
  std::uint64_t seed = 1;
  core::Settings settings{};  ///< of the run's strategy, for entries of other catalogues; make_strategy sets them
  ServerContext server{};     ///< for strategies with servers
};

/// A strategy of strategies/catalogue.def.
struct StrategyEntry {
  core::EntryInfo info;
  Share share = Share::block;     ///< unless its options choose another one
  bool has_servers = false;       ///< it is a ServedStrategy
  bool exchanges_always = false;  ///< all workers exchange the gradient of every minibatch, in all epochs
  bool replicas_differ = false;   ///< even at the end of a block: it is a MeetingStrategy
  std::function<std::unique_ptr<Strategy>(const StrategyContext&)> make;
};

const std::vector<StrategyEntry>& strategies();
core::CatalogueInfo strategy_catalogue();

/// Throws ConfigError for an unknown name.
const StrategyEntry& strategy_entry(std::string_view name);

/// Throws ConfigError for unknown names, settings that the strategy does not have, and values out of range.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const core::Settings& settings,
                                        const StrategyContext& context = {});

/// An entry whose `Type` is made from `Options` (which describe themselves, see core::OptionList) and, if it wants one, the
/// context.
template <class Type, class Options>
StrategyEntry entry_of(core::EntryInfo info, Share share = Share::block) {
  info.options = core::options_of<Options>();
  return {.info = std::move(info),
          .share = share,
          .has_servers = std::is_base_of_v<ServedStrategy, Type>,
          .exchanges_always = std::is_base_of_v<ExchangingStrategy, Type> && !std::is_base_of_v<ServedStrategy, Type>,
          .replicas_differ = std::is_base_of_v<MeetingStrategy, Type>,
          .make = [](const StrategyContext& context) -> std::unique_ptr<Strategy> {
            auto options = core::read_options<Options>(context.settings);
            if constexpr (std::is_constructible_v<Type, Options, StrategyContext>)
              return std::make_unique<Type>(options, context);
            else
              return std::make_unique<Type>(options);
          }};
}

// <name>_entry(), each in <name>.cpp
#define STRATEGY(name) StrategyEntry name##_entry();
#include "strategies/catalogue.def"
#undef STRATEGY

}  // namespace paragrad::strategies
