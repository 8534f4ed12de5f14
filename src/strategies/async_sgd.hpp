#pragma once

#include "core/arena.hpp"
#include "strategies/parameter_server/server_strategy.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD with a parameter server (Downpour SGD, Dean et al., NIPS 2012; Algorithm 4 of Ma's slides): each worker
/// fetches the parameters, computes the gradient of its own minibatch and pushes it; the server updates the parameters by
/// its rule (momentum, AdaGrad, …), with the learning rate sent with the gradient. Workers wait for each other only at the
/// end of an epoch, so the parameters may have been updated since a gradient's were fetched: the gradient is then stale.
///
/// push_every   sums the gradients of this many minibatches and pushes them as one update of all their samples, with the
///              momentum of the last, or that of all their samples if it is a time constant.
/// fetch_every  between fetches a worker updates its own copy: w -= rate·g, without momentum. It reapplies what it has not
///              yet pushed to newly fetched parameters (read-my-writes; Ho et al., NIPS 2013).
/// prefetch     the push and fetch of one minibatch overlap with the next minibatch: workers do not wait for messages, but
///              gradients are one minibatch staler, which is as many updates as there are workers.
class AsyncSgd : public ServerStrategy {
 public:
  AsyncSgd(const PushOptions& options, const StrategyContext& context)
      : ServerStrategy(options, context.server), options_(options), has_limits_(optim::has_limits(context.server.rule)) {}

  void start(comm::Worker& worker, Replica& replica) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;

 protected:
  void check(int workers) const override;

  const PushOptions& options() const { return options_; }

  /// Whether a worker updates its own copy between pushes or between fetches.
  virtual bool goes_ahead() const { return options().push_every != 1 || options().fetch_every != 1; }
  std::unique_ptr<Policy> make_policy(int) const override { return std::make_unique<Policy>(); }

  /// Whether to push the accumulated gradients now.
  virtual bool due(comm::Worker&, Replica&) { return minibatches_ >= options().push_every; }
  std::size_t minibatches() const { return minibatches_; }  ///< in the accumulated sum
  std::span<const float> sum() const { return sum_.span(); }
  const optim::Step& step_of_sum() const { return step_; }

 private:
  void add_up(comm::Worker& worker, Replica& replica, const Versions& used);
  void descend(comm::Worker& worker, Replica& replica, std::span<float> gradient, float rate);
  void take_in(comm::Worker& worker, Replica& replica);
  void exchange(comm::Worker& worker, Replica& replica, bool push, bool fetch);

  PushOptions options_;
  bool has_limits_;  // of gradients or weights, which the servers enforce
  core::Arena sum_;  // of gradients not yet pushed, or being pushed
  std::size_t minibatches_ = 0;
  optim::Step step_;    // of the sum
  float own_rate_ = 0;  // of the last minibatch in it, without momentum: for the worker's own copy
  Versions first_;      // of the parameters used by its first minibatch
  std::size_t since_fetch_ = 0;

  core::Arena coming_;  // prefetch: the next parameters
  Versions coming_versions_;
  bool comes_ = false;
};

}  // namespace paragrad::strategies
