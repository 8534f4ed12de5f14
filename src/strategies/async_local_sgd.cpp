#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/scale.hpp"
#include "core/arena.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"
#include "optim/delayed_nesterov.hpp"
#include "strategies/outer_optimiser.hpp"
#include "strategies/parameter_server/grace_policy.hpp"
#include "strategies/parameter_server/server_strategy.hpp"

namespace paragrad::strategies {
namespace {

enum class ServerStep { nesterov, weighted, delayed };

struct AsyncLocalOptions : ServerOptions {
  std::size_t push_every = 1;  // H
  OuterStepOptions outer;
  ServerStep step = ServerStep::delayed;
  std::size_t buffer = 0;         // N; 0: as many as workers
  std::vector<double> speeds{1};  // of the workers; a single one: of all
  double grace_s = 0;

  void describe(core::OptionList& list) {
    ServerOptions::describe(list);
    list.number("push-every", push_every, core::a_minibatch,
                "minibatches of a worker between two exchanges with the servers");
    outer.describe(list);
    list.choice(
        "outer-step", step,
        {{"nesterov", ServerStep::nesterov}, {"weighted", ServerStep::weighted}, {"delayed", ServerStep::delayed}},
        "what the servers do with a displacement: a step of Nesterov momentum, the same weighted by its staleness, or "
        "delayed Nesterov");
    list.number("outer-buffer", buffer, core::any_count,
                "displacements whose mean enters the momentum at once (0: as many as there are workers)")
        .when(step == ServerStep::delayed, "has no effect unless `outer-step` is delayed");
    list.group("Meetings");
    list.numbers(
        "worker-speeds", speeds, core::above_zero,
        "relative speeds of the workers, such as 1,0.5,0.5: each pushes after `push-every` times its speed over the "
        "largest, rounded (a single number: all are equal)");
    list.number("grace", grace_s, {.least = 0, .most = 1e6},
                "seconds for which a server waits after a push, so that workers that finish meanwhile go on from the same "
                "parameters");
  }
};

/// The minibatches of a worker between two exchanges: in proportion to its speed (DyLU), at least one. speeds: of all
/// workers, or a single one if they are equal.
std::size_t local_steps(std::size_t most, const std::vector<double>& speeds, int rank) {
  if (speeds.size() == 1) return most;
  const double share = speeds.at(static_cast<std::size_t>(rank)) / *std::ranges::max_element(speeds);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share * static_cast<double>(most))));
}

/// Weighs the displacements of N workers by 1/sqrt(N) · 1/sqrt(1 + staleness).
class WeighingPolicy : public Policy {
 public:
  explicit WeighingPolicy(int workers) : workers_(workers) {}

  bool push(comm::Communicator& comm, Shard& shard, const Push& push) override {
    const auto staleness = static_cast<double>(shard.version() - push.version);
    comm.run(backend::Scale{static_cast<float>(1 / std::sqrt(workers_ * (1 + staleness))), shard.gradient()});
    return Policy::push(comm, shard, push);
  }

 private:
  double workers_;
};

/// Asynchronous local SGD (Liu et al., arXiv 2401.09135, 2024): each worker trains from the servers' model x with the local
/// optimiser for H = push_every minibatches, sends how far it came, and goes on from the model that the servers have then.
/// Nobody waits for another within an epoch. The servers take a step by each displacement D = x - x_i as it arrives:
///
///   nesterov  v = μ v + D;  x = x - lr (D + μ v)
///   weighted  the same by D / sqrt(N (1 + s)), where s steps were taken since the worker fetched x
///   delayed   x = x - lr D/N;  and after N of them  v = μ v + mean of D;  x = x - lr μ v
///
/// The local optimisers keep their state. A single worker with N = 1 is DiLoCo up to rounding. At the end of an epoch, where
/// the workers meet, each sends the rest and all go on from x.
///
/// With DyLU each worker makes steps in proportion to its speed, so that all push at about the same time; with a grace
/// period (GracePolicy) those that do go on from the same model.
class AsyncLocalSgd : public ServerStrategy {
 public:
  AsyncLocalSgd(const AsyncLocalOptions& options, const StrategyContext& context)
      : ServerStrategy(options, context.server), options_(options) {}

  void start(comm::Worker& worker, Replica& replica) override;
  void serve(comm::Worker& all_ranks, int workers) override;
  void begin_epoch(comm::Worker& worker, Replica& replica, int epoch) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;

  /// The servers' rule is another one than that of the worker which has trained alone.
  void hand_over(comm::Worker&, Replica&) override {}

 protected:
  std::unique_ptr<Policy> make_policy(int workers) const override;
  optim::OptimiserOptions rule() const override;
  bool holds_fetches() const override { return options_.grace_s > 0; }
  void check(int workers) const override;

 private:
  void push(comm::Worker& worker, Replica& replica);

  AsyncLocalOptions options_;
  std::size_t steps_ = 1;  // H of this worker
  std::size_t workers_ = 1;
  core::Arena base_;             // x as fetched
  core::Arena displacement_;     // D
  std::size_t minibatches_ = 0;  // since then
};

std::unique_ptr<Policy> AsyncLocalSgd::make_policy(int workers) const {
  auto policy =
      options_.step == ServerStep::weighted ? std::make_unique<WeighingPolicy>(workers) : std::make_unique<Policy>();
  if (options_.grace_s == 0) return policy;
  return std::make_unique<GracePolicy>(std::move(policy), workers, options_.grace_s);
}

void AsyncLocalSgd::check(int workers) const {
  if (options_.speeds.size() > 1 && options_.speeds.size() != static_cast<std::size_t>(workers))
    throw core::OptionError("worker-speeds",
                            core::format("there are {} speeds, but {} workers", options_.speeds.size(), workers));
  if (options_.grace_s >= options_.worker_timeout_s)
    throw core::OptionError("grace",
                            core::format("it must be shorter than `worker-timeout`, {} s", options_.worker_timeout_s));
}

optim::OptimiserOptions AsyncLocalSgd::rule() const {
  if (options_.step != ServerStep::delayed) return {.name = "nesterov"};
  return optim::delayed_nesterov(options_.buffer > 0 ? options_.buffer : workers_);
}

void AsyncLocalSgd::start(comm::Worker& worker, Replica& replica) {
  workers_ = static_cast<std::size_t>(worker.size());
  ServerStrategy::start(worker, replica);  // checks the number of speeds
  steps_ = local_steps(options_.push_every, options_.speeds, worker.rank());
  base_ = worker.device().allocate(replica.parameters.size());
  displacement_ = worker.device().allocate(replica.parameters.size());
  minibatches_ = 0;
}

void AsyncLocalSgd::serve(comm::Worker& all_ranks, int workers) {
  workers_ = static_cast<std::size_t>(workers);
  ServerStrategy::serve(all_ranks, workers);
}

void AsyncLocalSgd::begin_epoch(comm::Worker& worker, Replica& replica, int) {
  worker.run(backend::Copy{replica.parameters, base_.span()});
}

void AsyncLocalSgd::step(comm::Worker& worker, Replica& replica) {
  replica.optimiser.begin_step();
  worker.run_kernels([&](backend::KernelQueue& queue) {
    replica.optimiser.update(queue, {0, replica.parameters.size()}, replica.step, replica.parameters);
  });
  if (++minibatches_ < steps_) return;
  push(worker, replica);
  talk(worker, [&](comm::Communicator& comm) { link().fetch(comm, versions(), base_.span()); });
  worker.run(backend::Copy{base_.span(), replica.parameters});
}

void AsyncLocalSgd::push(comm::Worker& worker, Replica& replica) {
  minibatches_ = 0;
  worker.run(backend::Copy{base_.span(), displacement_.span()},
             backend::Descend{1, 0, replica.parameters, displacement_.span()});
  const optim::Step step{.rate = static_cast<float>(options_.outer.learning_rate),
                         .momentum = static_cast<float>(options_.outer.momentum)};
  talk(worker, [&](comm::Communicator& comm) { link().push(comm, versions(), step, displacement_.span()); });
}

void AsyncLocalSgd::show_model(comm::Worker& worker, Replica& replica) {
  if (minibatches_ > 0) push(worker, replica);
  meet(worker, replica.parameters);
}

}  // namespace

StrategyEntry async_local_sgd_entry() {
  return entry_of<AsyncLocalSgd, AsyncLocalOptions>(
      {.name = "async_local_sgd",
       .summary = "push displacements of local models, for which servers take a step each as they arrive",
       .source = "Liu et al., 2024",
       .formula = "D = x - x_i after H minibatches\nx = x - rate D/N\nafter N of them v = mu v + mean of their D\n"
                  "x = x - rate mu v"},
      Share::epoch);
}

}  // namespace paragrad::strategies
