#pragma once

#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// The baseline: one worker with local updates only.
class Sgd : public Strategy {
 public:
  explicit Sgd(const StrategyOptions&) {}

  Share share() const override { return Share::minibatch; }
  void start(comm::Worker& worker, Replica& replica) override;
};

}  // namespace paragrad::strategies
