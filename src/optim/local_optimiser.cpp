#include "optim/local_optimiser.hpp"

#include <utility>

#include "core/errors.hpp"

namespace paragrad::optim {
namespace {

std::size_t parameters_of(std::span<const core::Matrix> layout) { return layout.empty() ? 0 : layout.back().range().end; }

/// One arena d: the gradient itself, or the velocity into which backward accumulates (keep μ). w -= rate·d.
class InPlace : public LocalOptimiser {
 public:
  InPlace(backend::Device& device, std::size_t parameters, bool has_momentum)
      : direction_(device.allocate(parameters)), has_momentum_(has_momentum) {}

  std::span<float> gradients() override { return direction_.span(); }
  float keep(const Step& step) const override { return has_momentum_ ? step.momentum : 0; }
  bool descends() const override { return true; }
  void swap_gradients(core::Arena& other) override { std::swap(direction_, other); }

  void describe_state(core::State& state) override {
    if (has_momentum_) state.add("velocity", direction_.span());
  }
  void forget(backend::Device& device) override {
    if (has_momentum_) device.fill(0, direction_.span());
  }

  void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) override {
    device.descend(step.rate, step.decay, range.of(direction_.span()), range.of(parameters));
  }

 private:
  core::Arena direction_;
  bool has_momentum_;
};

/// Gradient and velocity apart.
class Momentum : public LocalOptimiser {
 public:
  Momentum(backend::Device& device, std::size_t parameters, bool nesterov)
      : gradients_(device.allocate(parameters)), velocity_(device.allocate(parameters)), nesterov_(nesterov) {}

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void describe_state(core::State& state) override { state.add("velocity", velocity_.span()); }
  void forget(backend::Device& device) override { device.fill(0, velocity_.span()); }

  void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) override {
    device.momentum_update(step.rate, step.momentum, nesterov_, step.decay, range.of(gradients()),
                           range.of(velocity_.span()), range.of(parameters));
  }

 private:
  core::Arena gradients_;
  core::Arena velocity_;
  bool nesterov_;
};

/// What a rule is made from.
struct Ingredients {
  const OptimiserOptions& options;
  backend::Device& device;
  std::span<const core::Matrix> layout;
  std::size_t parameters;
  bool bare_gradient;
};
using Made = std::unique_ptr<LocalOptimiser>;

Made make_sgd(const Ingredients& from) { return std::make_unique<InPlace>(from.device, from.parameters, false); }

Made make_momentum(const Ingredients& from) {
  if (from.bare_gradient) return std::make_unique<Momentum>(from.device, from.parameters, false);
  return std::make_unique<InPlace>(from.device, from.parameters, from.options.has_momentum);
}

Made make_nesterov(const Ingredients& from) { return std::make_unique<Momentum>(from.device, from.parameters, true); }

}  // namespace

std::unique_ptr<LocalOptimiser> make_optimiser(const OptimiserOptions& options, backend::Device& device,
                                               std::span<const core::Matrix> layout, bool bare_gradient) {
  const Ingredients ingredients{options, device, layout, parameters_of(layout), bare_gradient};
#define OPTIMISER(known, description) \
  if (options.name == #known) return make_##known(ingredients);
#include "optim/catalogue.def"
#undef OPTIMISER
  throw core::unknown_name("optimiser", options.name, optimiser_names());
}

std::vector<std::string> optimiser_names() {
  return {
#define OPTIMISER(known, description) #known,
#include "optim/catalogue.def"
#undef OPTIMISER
  };
}

}  // namespace paragrad::optim
