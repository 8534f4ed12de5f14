#pragma once

#include <memory>
#include <span>
#include <utility>

#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// L2 on weights alone, around a rule that works element by element: biases, the scales and shifts of normalisation and all
/// other single columns are updated without decay (He et al., arXiv 1812.01187, section 3.1). LARS does so itself.
class DecayOfWeights : public LocalOptimiser {
 public:
  DecayOfWeights(std::unique_ptr<LocalOptimiser> rule, std::span<const core::Matrix> layout)
      : rule_(std::move(rule)), layout_(layout) {}

  std::span<float> gradients() override { return rule_->gradients(); }
  float keep(const Step& step) const override { return rule_->keep(step); }
  bool descends() const override { return false; }
  void begin_step() override { rule_->begin_step(); }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;
  void describe_state(core::StateView& state) override { rule_->describe_state(state); }
  std::optional<Moments> moments() override { return rule_->moments(); }
  void forget(backend::KernelQueue& queue) override { rule_->forget(queue); }
  void swap_gradients(core::Arena& other) override { rule_->swap_gradients(other); }

 private:
  std::unique_ptr<LocalOptimiser> rule_;
  std::span<const core::Matrix> layout_;
};

}  // namespace paragrad::optim
