#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "backend/kernels/scale.hpp"
#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {

namespace {

struct LarsOptions : MomentumOptions {
  double trust = 0.001;

  void describe(core::OptionList& list) {
    MomentumOptions::describe(list);
    list.group("Local optimiser");
    list.number("lars-trust", trust, core::above_zero,
                "trust coefficient, the share of its norm that a matrix moves at learning rate 1");
  }
};

/// LARS, layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv 1708.03888, 2017): momentum with a separate rate
/// for each matrix w of the model,
///
///   r = trust·|w| / (|g|/n + λ|w|);  v = μv + r (g + nλw);  w -= rate·v
///
/// with the minibatch's mean gradient g/n and the L2 strength λ, so that each step changes a matrix by trust·learning rate
/// of its norm, whatever the size of its gradient. If w or g is zero, r = 1. Biases and all other single columns always use
/// r = 1, as is customary: their norms are not informative; `l2-on` says whether they decay. The rate is applied to v at the
/// time of the step, as in the other rules here; the paper includes it in v.
class Lars : public SeparateMomentum {
 public:
  Lars(const OptimiserContext& from, double trust)
      : SeparateMomentum(from.device, from.parameters, false),
        trust_(trust),
        decays_all_(decays_all(from.options)),
        layout_(from.layout) {}

  bool needs_all() const override { return true; }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;

 private:
  void update_matrix(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters);

  double trust_;
  bool decays_all_;
  std::span<const core::Matrix> layout_;
};

void Lars::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (range != core::Range{0, parameters.size()}) throw std::logic_error("LARS updates all parameters at once");
  for (const core::Matrix& matrix : layout_) {
    if (matrix.is_vector())
      SeparateMomentum::update(queue, matrix.range(), decays_all_ ? step : without_decay(step), parameters);
    else
      update_matrix(queue, matrix.range(), step, parameters);
  }
}

void Lars::update_matrix(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  const double w = std::sqrt(queue.squared_norm(range.of(parameters)));
  const double g = std::sqrt(queue.squared_norm(range.of(gradients())));
  const double ratio = w > 0 && g > 0 ? trust_ * step.samples * w / (g + step.decay * w) : 1;
  const auto factor = static_cast<float>(std::min<double>(ratio, std::numeric_limits<float>::max()));  // of tiny gradients
  queue.run(backend::Scale{factor, range.of(gradients())});
  step.decay *= factor;
  SeparateMomentum::update(queue, range, step, parameters);
}

}  // namespace

OptimiserEntry lars_entry() {
  return momentum_entry_of<LarsOptions>(
      {.name = "lars",
       .summary = "LARS: momentum with a learning rate scaled by each matrix's norm",
       .source = "You, Gitman and Ginsburg, 2017"},
      [](const OptimiserContext& from, const LarsOptions& options) { return std::make_unique<Lars>(from, options.trust); });
}

}  // namespace paragrad::optim
