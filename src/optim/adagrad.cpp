#include <algorithm>
#include <utility>

#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/fill.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

/// AdaGrad (Duchi, Hazan and Singer, JMLR 12, 2011), as a parameter server applies it in DistBelief (Dean et al., NIPS
/// 2012), on the minibatch's mean gradient g/n, with n its samples:
///
///   d = g/n + λw;  s = s + d²;  w -= α d / (√s + ε),  α = n·rate
///
/// The arena holds the mean of the squares over the k steps so far, s/k, so that Adam's kernel can be used, with β1 = 0 and
/// β2 = 1 - 1/k.
class AdaGrad : public LocalOptimiser {
 public:
  explicit AdaGrad(const OptimiserContext& from)
      : epsilon_(from.options.adam_epsilon),
        gradients_(from.device.allocate(from.parameters)),
        direction_(from.device.allocate(from.parameters)),
        mean_square_(from.device.allocate(from.parameters)) {
    if (!(epsilon_ > 0)) throw core::ConfigError(core::format("AdaGrad's epsilon {} must be above 0", epsilon_));
  }

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }

  void describe_state(core::StateView& state) override {
    state.add("mean_square", mean_square_.span());
    state.add("steps", steps_);
  }
  void forget(backend::KernelQueue& queue) override {
    queue.run(backend::Fill{0, mean_square_.span()});
    steps_ = 0;
  }

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    if (range.empty()) return;
    if (range.end == parameters.size()) steps_ += 1;  // a minibatch begins
    const double samples = step.samples, count = std::max(1., steps_);
    queue.run(backend::AdamUpdate{{.rate = samples * step.rate,
                                   .beta1 = 0,
                                   .beta2 = 1 - 1 / count,
                                   .unbias = count,
                                   .epsilon = epsilon_,
                                   .gradient_scale = 1 / samples,
                                   .decay = step.decay / samples},
                                  range.of(gradients_.span()),
                                  range.of(direction_.span()),
                                  range.of(mean_square_.span()),
                                  range.of(parameters)});
  }

 private:
  double epsilon_;
  core::Arena gradients_;
  core::Arena direction_;    // d of the current step
  core::Arena mean_square_;  // s/k
  double steps_ = 0;         // k
};

}  // namespace

std::unique_ptr<LocalOptimiser> make_adagrad(const OptimiserContext& from) { return std::make_unique<AdaGrad>(from); }

}  // namespace paragrad::optim
