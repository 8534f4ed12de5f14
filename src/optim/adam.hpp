#pragma once

#include <utility>

#include "backend/kernels/adam_update.hpp"
#include "backend/update_rule.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// Adam (Kingma and Ba, ICLR 2015) on the minibatch's mean gradient g/n, with n its samples:
///
///   d = g/n + λw;  m = β1 m + (1-β1) d;  v = β2 v + (1-β2) d²;  t = t + 1
///   w -= α m/(1-β1^t) / (√(v/(1-β2^t)) + ε)
///
/// α = n·rate, the rate of the whole minibatch: --learning-rate 0.001 per minibatch is the α of the paper, and a shorter
/// minibatch gets a proportionally smaller one. ε is relative to the mean gradient, as usual.
///
/// AdamW (Loshchilov and Hutter, ICLR 2019): d = g/n, and w -= αλw in addition.
class Adam : public LocalOptimiser {
 public:
  static constexpr backend::RuleNumbers published{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

  Adam(const backend::RuleNumbers& numbers, backend::Device& device, std::size_t parameters, bool decoupled);

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void describe_state(core::StateView& state) override;
  std::optional<Moments> moments() override;
  void forget(backend::KernelQueue& queue) override;
  void begin_step() override { steps_ += 1; }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;

 private:
  backend::AdamStep constants(const Step& step) const;

  backend::RuleNumbers numbers_;
  bool decoupled_;
  core::Arena gradients_;
  core::Arena first_;   // m
  core::Arena second_;  // v
  double steps_ = 0;    // t
};

}  // namespace paragrad::optim
