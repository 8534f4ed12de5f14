#pragma once

#include "core/arena.hpp"
#include "strategies/outer_exchange.hpp"
#include "strategies/update_statistics.hpp"

namespace paragrad::strategies {

/// Options of DiLoCo's outer step.
struct OuterStepOptions {
  double learning_rate = 0.7;
  double momentum = 0.9;

  void describe(core::OptionList& list);
};

/// Options of strategies that take an outer step after each block.
struct OuterOptions : OuterExchangeOptions, StatisticsOptions {
  void describe(core::OptionList& list);
};

/// What an outer step works on, all [owned].
struct OuterPart {
  std::span<float> average;   ///< x_avg; after the step the next x
  std::span<float> model;     ///< x; likewise
  std::span<float> momentum;  ///< the rule's state; 0 before the first step
};

/// Nesterov's momentum μ in the form of torch.optim.SGD: g = x - x_avg;  v = μ v + g;  x = x - rate (g + μ v)
void nesterov_step(comm::Communicator& comm, const OuterPart& part, double rate, double momentum);

/// An outer optimiser around the local ones, for which a block is one step: from the common starting point x and the mean
/// x_avg of the workers' models after the block, its rule computes the next x. SlowMo and DiLoCo are such rules.
///
/// The workers together keep one copy of x and of the rule's state: each holds the range that it owns in the exchange, 2/N
/// of a model (with `butterfly`, or compression, every worker owns everything). A single worker takes outer steps, too. A
/// block without any samples is not a step.
class OuterOptimiser : public Strategy {
 public:
  Remarks explain(const Extent& extent) const override { return exchange_.explain(extent); }
  Remarks report(comm::Worker& worker) override;
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void describe_state(core::StateView& state) override;

 protected:
  struct Settings {
    std::string name;  ///< prefix of its state
    double momentum = 0;
    double learning_rate = 1;
    bool reset_local_momentum = false;  ///< reset the state of the local optimisers at each step
  };

  OuterOptimiser(Settings settings, const OuterOptions& options, const StrategyContext& context);

  const Settings& settings() const { return settings_; }
  core::Range owned() const { return owned_; }  ///< the range of the parameters whose state this worker holds

 private:
  /// The rule. local_rate: Replica::learning_rate.
  virtual void outer_step(comm::Worker& worker, const OuterPart& part, double local_rate) = 0;

  Settings settings_;
  OuterExchange exchange_;
  UpdateStatistics statistics_;
  core::Range owned_;
  core::Arena model_;     // [owned]
  core::Arena momentum_;  // [owned]
};

}  // namespace paragrad::strategies
