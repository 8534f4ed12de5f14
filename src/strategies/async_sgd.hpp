#pragma once

#include "core/arena.hpp"
#include "strategies/parameter_server/server_strategy.hpp"

namespace paragrad::strategies {

/// Asynchronous SGD with a parameter server (Downpour SGD, Dean et al., NIPS 2012; Algorithm 4 of Ma's slides): each worker
/// fetches the parameters, computes the gradient of a minibatch of its own and pushes it; the server moves the parameters by
/// its rule (momentum, AdaGrad, …), with the rate that comes with the gradient. Nobody waits for anybody but at the end of a
/// epoch, so a gradient may have been computed with parameters that have been updated meanwhile: it is then stale.
///
/// push_every   gradients of so many minibatches are added up and go as one, an update of all their samples, with the
///              momentum of the last.
/// fetch_every  in between a worker goes on by itself: w -= rate·g, without momentum. What it has not pushed yet it applies
///              again to parameters that come (a worker sees what it did itself; Ho et al., NIPS 2013).
/// prefetch     what one minibatch pushes and fetches travels during the next: nobody waits for messages, gradients are one
///              minibatch staler, by as many updates as there are workers.
class AsyncSgd : public ServerStrategy {
 public:
  using ServerStrategy::ServerStrategy;

  void start(comm::Worker& worker, Replica& replica) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;

 protected:
  void check(int workers) const override;

  /// Whether a worker goes on by itself between pushes or between fetches.
  virtual bool goes_ahead() const { return options().push_every != 1 || options().fetch_every != 1; }
  std::unique_ptr<Policy> make_policy(int) const override { return std::make_unique<Policy>(); }

  /// Whether what has been added up is to be pushed now.
  virtual bool due(comm::Worker&, Replica&) { return minibatches_ >= options().push_every; }
  std::size_t minibatches() const { return minibatches_; }  ///< whose gradients have been added up
  std::span<const float> sum() const { return sum_.span(); }
  const optim::Step& step_of_sum() const { return step_; }

 private:
  void add_up(comm::Worker& worker, Replica& replica, const Versions& used);
  void descend(comm::Worker& worker, Replica& replica, std::span<float> gradient, const optim::Step& step);
  void take_in(comm::Worker& worker, Replica& replica);
  void exchange(comm::Worker& worker, Replica& replica, bool push, bool fetch);

  core::Arena sum_;  // of gradients not pushed yet, or of those on their way
  std::size_t minibatches_ = 0;
  optim::Step step_;  // of the sum
  Versions first_;    // of the parameters that its first minibatch was computed with
  std::size_t since_fetch_ = 0;

  core::Arena coming_;  // prefetch: the next parameters
  Versions coming_versions_;
  bool comes_ = false;
};

}  // namespace paragrad::strategies
