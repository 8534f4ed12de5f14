#pragma once

#include <utility>

#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// One arena d: the gradient itself, or the velocity, into which the backward pass accumulates (keep = μ). w -= rate·d.
class FusedMomentum : public LocalOptimiser {
 public:
  FusedMomentum(backend::Device& device, std::size_t parameters, bool has_momentum)
      : direction_(device.allocate(parameters)), has_momentum_(has_momentum) {}

  std::span<float> gradients() override { return direction_.span(); }
  float keep(const Step& step) const override { return has_momentum_ ? step.momentum : 0; }
  bool descends() const override { return true; }
  void swap_gradients(core::Arena& other) override { std::swap(direction_, other); }

  void describe_state(core::StateView& state) override {
    if (has_momentum_) state.add("velocity", direction_.span());
  }
  void forget(backend::KernelQueue& queue) override {
    if (has_momentum_) queue.run(backend::Fill{0, direction_.span()});
  }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    queue.run(backend::Descend{step.rate, step.decay, range.of(direction_.span()), range.of(parameters)});
  }

 private:
  core::Arena direction_;
  bool has_momentum_;
};

}  // namespace paragrad::optim
