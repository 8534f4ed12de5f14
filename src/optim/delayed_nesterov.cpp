#include "optim/delayed_nesterov.hpp"

#include <cmath>
#include <utility>

#include "backend/kernels/add.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/scale.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

constexpr const char* every_option = "momentum-every";

struct DelayedNesterovOptions : MomentumOptions {
  std::size_t every = 4;  // N

  void describe(core::OptionList& list) {
    MomentumOptions::describe(list);
    list.group("Parameter server");
    list.number(every_option, every, core::one_or_more,
                "steps after which the mean of their gradients enters the momentum, which then takes its own step");
  }
};

/// Delayed Nesterov (Liu et al., "Asynchronous local-SGD training for language modeling", arXiv 2401.09135, Algorithm 3 with
/// c = 0): momentum for gradients that arrive one by one, at a server. Each takes its N-th part of a step at once; after N
/// of them their mean enters the momentum, which takes a step of its own:
///
///   w -= rate·g/N;  b += g;  and after N steps v = μv + b/N,  w -= rate·μ·v,  b = 0
///
/// So N steps move the weights as one step of `nesterov` by the mean does; N = 1 is `nesterov` up to rounding. g includes
/// L2.
class DelayedNesterov : public LocalOptimiser {
 public:
  DelayedNesterov(const OptimiserContext& from, std::size_t every)
      : every_(static_cast<double>(every)),
        gradients_(from.device.allocate(from.parameters)),
        sum_(from.device.allocate(from.parameters)),
        velocity_(from.device.allocate(from.parameters)) {}

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void begin_step() override {
    steps_ = std::fmod(steps_, every_) + 1;
    momentum_is_due_ = steps_ >= every_;
  }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    const auto part = static_cast<float>(1 / every_);
    const std::span<float> sum = range.of(sum_.span()), velocity = range.of(velocity_.span()), w = range.of(parameters);
    queue.run(backend::Descend{step.rate * part, step.decay, range.of(gradients()), w});
    queue.run(backend::Add{range.of(gradients()), sum});
    if (!momentum_is_due_) return;
    if (range.begin == 0) momentum_is_due_ = false;  // the last range: what is counted between steps is a cheap one
    queue.run(backend::Scale{step.momentum, velocity});
    queue.run(backend::Descend{-part, 0, sum, velocity});
    queue.run(backend::Descend{step.rate * step.momentum, 0, velocity, w});
    queue.run(backend::Fill{0, sum});
  }

  void describe_state(core::StateView& state) override {
    state.add("velocity", velocity_.span(), core::Rescale::mean, core::GrowsWith::share);
    state.add("sum", sum_.span(), core::Rescale::mean, core::GrowsWith::share);
    state.add("steps", steps_, core::Rescale::equal);
  }
  void forget(backend::KernelQueue& queue) override {
    queue.run(backend::Fill{0, velocity_.span()});
    queue.run(backend::Fill{0, sum_.span()});
    steps_ = 0;
  }

 private:
  double every_;
  core::Arena gradients_;
  core::Arena sum_;               // b
  core::Arena velocity_;          // v
  double steps_ = 0;              // since the momentum's last step, the present one included; a double, for the StateView
  bool momentum_is_due_ = false;  // in the step that has begun
};

}  // namespace

OptimiserOptions delayed_nesterov(std::size_t every) {
  return {.name = "delayed_nesterov", .settings = {{every_option, every}}};
}

OptimiserEntry delayed_nesterov_entry() {
  return momentum_entry_of<DelayedNesterovOptions>(
      {.name = "delayed_nesterov",
       .summary = "Nesterov momentum of the means of several gradients, each of which takes its part of a step at once",
       .source = "Liu et al., 2024",
       .formula = "w = w - rate g/N\nafter N steps v = mu v + mean of their g\nw = w - rate mu v"},
      [](const OptimiserContext& from, const DelayedNesterovOptions& options) {
        return std::make_unique<DelayedNesterov>(from, options.every);
      });
}

}  // namespace paragrad::optim
