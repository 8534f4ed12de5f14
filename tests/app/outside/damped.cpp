#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {
namespace {

struct DampedOptions : MomentumOptions {
  double damping = 0.5;

  void describe(core::OptionList& list) {
    MomentumOptions::describe(list);
    list.group("Local optimiser");
    list.number("damping", damping, core::a_share, "factor of each step");
  }
};

/// Momentum with a shorter step: the same as momentum with a smaller learning rate.
class Damped : public SeparateMomentum {
 public:
  Damped(const OptimiserContext& from, double damping)
      : SeparateMomentum(from.device, from.parameters, false), damping_(static_cast<float>(damping)) {}

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    step.rate *= damping_;
    SeparateMomentum::update(queue, range, step, parameters);
  }

 private:
  float damping_;
};

}  // namespace

OptimiserEntry damped_entry() {
  return momentum_entry_of<DampedOptions>({.name = "damped",
                                           .summary = "momentum with a shorter step",
                                           .source = "none: for tests",
                                           .formula = "v = mu v + g\nw = w - damping rate v"},
                                          [](const OptimiserContext& from, const DampedOptions& options) {
                                            return std::make_unique<Damped>(from, options.damping);
                                          });
}

}  // namespace paragrad::optim
