#include <utility>

#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {
namespace {

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
    if (has_momentum_) state.add("velocity", direction_.span(), core::Rescale::mean, core::GrowsWith::share);
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

}  // namespace

OptimiserEntry sgd_entry() {
  return entry_of(
      {.name = "sgd", .summary = "stochastic gradient descent", .formula = "w = w - rate g"},
      [](const OptimiserContext& from) { return std::make_unique<FusedMomentum>(from.device, from.parameters, false); });
}

OptimiserEntry momentum_entry() {
  return momentum_entry_of({.name = "momentum", .summary = "classical momentum", .formula = "v = mu v + g\nw = w - rate v"},
                           [](const OptimiserContext& from, const MomentumOptions&) -> std::unique_ptr<LocalOptimiser> {
                             if (from.bare_gradient)
                               return std::make_unique<SeparateMomentum>(from.device, from.parameters, false);
                             return std::make_unique<FusedMomentum>(from.device, from.parameters, from.options.has_momentum);
                           });
}

OptimiserEntry nesterov_entry() {
  return momentum_entry_of({.name = "nesterov",
                            .summary = "Nesterov momentum",
                            .source = "Sutskever et al., ICML 2013",
                            .formula = "v = mu v + g\nw = w - rate (g + mu v)"},
                           [](const OptimiserContext& from, const MomentumOptions&) {
                             return std::make_unique<SeparateMomentum>(from.device, from.parameters, true);
                           });
}

}  // namespace paragrad::optim
