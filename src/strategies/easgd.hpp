#pragma once

#include "core/arena.hpp"
#include "strategies/parameter_server/server_strategy.hpp"

namespace paragrad::strategies {

/// Asynchronous elastic averaging SGD (Zhang, Choromanska and LeCun, NIPS 2015): workers x_i train independently with the
/// local optimiser (with momentum this is the paper's EAMSGD). Every τ = push_every minibatches a worker and the centre c,
/// held by the servers, move towards each other:
///
///   e = α (x_i - c);  x_i = x_i - e;  c = c + e
///
/// with α = 0.9/N unless given (the paper's β = 0.9). Between the two halves another worker may move the centre; the
/// reported staleness counts these moves. The centre is the model that is evaluated and returned.
class Easgd : public ServerStrategy {
 public:
  explicit Easgd(const StrategyOptions& options);

  void start(comm::Worker& worker, Replica& replica) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 protected:
  std::unique_ptr<Policy> make_policy(int) const override { return std::make_unique<Policy>(); }
  optim::OptimiserOptions rule() const override { return {.name = "sgd"}; }
  void check(int workers) const override;

 private:
  void pull(comm::Worker& worker, Replica& replica);

  core::Arena centre_;      // as fetched
  core::Arena difference_;  // x_i - c; between show_model and resume_work x_i
  double minibatches_ = 0;  // since the last pull; a double, for the StateView
};

}  // namespace paragrad::strategies
