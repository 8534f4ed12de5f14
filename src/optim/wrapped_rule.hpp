#pragma once

#include <memory>
#include <span>
#include <utility>

#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// A rule with something around its updates: its gradient is delivered bare, its state is the rule's own.
class WrappedRule : public LocalOptimiser {
 public:
  WrappedRule(std::unique_ptr<LocalOptimiser> rule, std::span<const core::Matrix> layout)
      : rule_(std::move(rule)), layout_(layout) {}

  std::span<float> gradients() override { return rule_->gradients(); }
  float keep(const Step& step) const override { return rule_->keep(step); }
  bool descends() const override { return false; }
  bool needs_all() const override { return rule_->needs_all(); }
  void begin_step() override { rule_->begin_step(); }
  void describe_state(core::StateView& state) override { rule_->describe_state(state); }
  std::optional<Moments> moments() override { return rule_->moments(); }
  void forget(backend::KernelQueue& queue) override { rule_->forget(queue); }
  void swap_gradients(core::Arena& other) override { rule_->swap_gradients(other); }

 protected:
  LocalOptimiser& rule() { return *rule_; }
  std::span<const core::Matrix> layout() const { return layout_; }

 private:
  std::unique_ptr<LocalOptimiser> rule_;
  std::span<const core::Matrix> layout_;
};

}  // namespace paragrad::optim
