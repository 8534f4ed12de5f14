#include "optim/local_optimiser.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::optim {
namespace {

/// One arena d: the gradient itself (keep 0) or the velocity into which backward accumulates (keep μ). w -= rate·d.
class InPlace : public LocalOptimiser {
 public:
  InPlace(backend::Device& device, std::size_t parameters, float keep)
      : direction_(device.allocate(parameters)), keep_(keep) {}

  std::span<float> gradients() override { return direction_.span(); }
  float keep() const override { return keep_; }
  bool descends() const override { return true; }
  std::span<float> velocity() override { return keep_ == 0 ? std::span<float>{} : direction_.span(); }

  void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) override {
    device.descend(step.rate, step.decay, range.of(direction_.span()), range.of(parameters));
  }

 private:
  core::Arena direction_;
  float keep_;
};

/// Gradient and velocity apart.
class Momentum : public LocalOptimiser {
 public:
  Momentum(backend::Device& device, std::size_t parameters, float momentum, bool nesterov)
      : gradients_(device.allocate(parameters)),
        velocity_(device.allocate(parameters)),
        momentum_(momentum),
        nesterov_(nesterov) {}

  std::span<float> gradients() override { return gradients_.span(); }
  float keep() const override { return 0; }
  bool descends() const override { return false; }
  std::span<float> velocity() override { return velocity_.span(); }

  void update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) override {
    device.momentum_update(step.rate, momentum_, nesterov_, step.decay, range.of(gradients()), range.of(velocity_.span()),
                           range.of(parameters));
  }

 private:
  core::Arena gradients_;
  core::Arena velocity_;
  float momentum_;
  bool nesterov_;
};

using Made = std::unique_ptr<LocalOptimiser>;

Made make_sgd(backend::Device& device, std::size_t parameters, float, bool) {
  return std::make_unique<InPlace>(device, parameters, 0.f);
}

Made make_momentum(backend::Device& device, std::size_t parameters, float momentum, bool bare_gradient) {
  if (bare_gradient) return std::make_unique<Momentum>(device, parameters, momentum, false);
  return std::make_unique<InPlace>(device, parameters, momentum);
}

Made make_nesterov(backend::Device& device, std::size_t parameters, float momentum, bool) {
  return std::make_unique<Momentum>(device, parameters, momentum, true);
}

}  // namespace

std::unique_ptr<LocalOptimiser> make_optimiser(std::string_view name, backend::Device& device, std::size_t parameters,
                                               float momentum, bool bare_gradient) {
  if (!(momentum >= 0 && momentum < 1)) throw core::ConfigError(core::format("momentum {} is outside [0, 1)", momentum));
#define OPTIMISER(known, description) \
  if (name == #known) return make_##known(device, parameters, momentum, bare_gradient);
#include "optim/catalogue.def"
#undef OPTIMISER
  throw core::unknown_name("optimiser", name, optimiser_names());
}

std::vector<std::string> optimiser_names() {
  return {
#define OPTIMISER(known, description) #known,
#include "optim/catalogue.def"
#undef OPTIMISER
  };
}

}  // namespace paragrad::optim
