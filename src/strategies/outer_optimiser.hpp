#pragma once

#include "core/arena.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// An optimiser around the local ones, for which a block is one step: from where all workers set out, x, and where they have
/// arrived on average, x_avg, its rule makes the next x. SlowMo and DiLoCo are such rules.
///
/// x and what the rule remembers are held once for all workers together: each holds the range it owns of the allreduce, 2/N
/// of a model (with `butterfly` everyone owns everything). A lone worker takes outer steps, too. A block in which nobody
/// processed anything is no step.
class OuterOptimiser : public Strategy {
 public:
  Share share() const override { return Share::block; }
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void describe_state(core::StateView& state) override;

 protected:
  struct Settings {
    std::string name;  ///< of its options and its state
    std::string collective;
    double momentum = 0;
    double learning_rate = 1;
    bool reset_local_momentum = false;  ///< do the local optimisers forget what they remember at each step?
  };

  /// The owned part of everything, all [owned].
  struct Part {
    std::span<float> average;   ///< x_avg; after the step the next x
    std::span<float> model;     ///< x; likewise
    std::span<float> momentum;  ///< what the rule remembers; 0 before the first step
  };

  /// Throws ConfigError where the momentum is outside [0, 1) or the learning rate not above 0.
  explicit OuterOptimiser(Settings settings);

  const Settings& settings() const { return settings_; }

 private:
  /// The rule. local_rate: Replica::learning_rate.
  virtual void outer_step(comm::Worker& worker, const Part& part, double local_rate) = 0;

  Settings settings_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  core::Range owned_;
  core::Arena model_;     // [owned]
  core::Arena momentum_;  // [owned]
};

}  // namespace paragrad::strategies
