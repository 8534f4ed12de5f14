#pragma once

#include <utility>

#include "backend/kernels/fill.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "optim/local_optimiser.hpp"

namespace paragrad::optim {

/// Gradient and velocity in two arenas, for classical and Nesterov momentum.
class SeparateMomentum : public LocalOptimiser {
 public:
  SeparateMomentum(backend::Device& device, std::size_t parameters, bool nesterov)
      : gradients_(device.allocate(parameters)), velocity_(device.allocate(parameters)), nesterov_(nesterov) {}

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void describe_state(core::StateView& state) override {
    state.add("velocity", velocity_.span(), core::Rescale::mean, core::GrowsWith::share);
  }
  void forget(backend::KernelQueue& queue) override { queue.run(backend::Fill{0, velocity_.span()}); }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    queue.run(backend::MomentumUpdate{step.rate, step.momentum, nesterov_, step.decay, range.of(gradients()),
                                      range.of(velocity_.span()), range.of(parameters)});
  }

 private:
  core::Arena gradients_;
  core::Arena velocity_;
  bool nesterov_;
};

}  // namespace paragrad::optim
