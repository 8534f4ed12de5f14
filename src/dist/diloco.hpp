#pragma once

#include "core/arena.hpp"
#include "dist/strategy.hpp"

namespace paragrad::dist {

/// DiLoCo (Douillard et al., arXiv 2311.08105, 2023): an outer SGD with Nesterov momentum, in the form of torch.optim.SGD,
/// whose gradient is how far the workers went, on average, in the other direction:
///
///   g = x - x_avg;  v = μ v + g;  x = x - lr (g + μ v)
///
/// The local optimisers keep what they remember (--reset-local-momentum means nothing here). BMUF of kind nbm with η = μ and
/// ζ = lr sets out from the same points; its W is x without the look-ahead. Here x itself is the model that is evaluated and
/// saved, as there is no other in this form, nor in the implementations that are known.
///
/// x and v are held once for all workers together, as in BMUF. A lone worker takes outer steps, too.
class DiLoCo : public Strategy {
 public:
  explicit DiLoCo(const StrategyOptions& options);

  Share share() const override { return Share::block; }
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void describe_state(core::State& state) override;

 private:
  StrategyOptions options_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  core::Range owned_;
  core::Arena model_;     // x, [owned]
  core::Arena velocity_;  // v, [owned]
};

}  // namespace paragrad::dist
