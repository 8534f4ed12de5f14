#include "backend/kernels/descend.hpp"
#include "optim/optimiser_context.hpp"
#include "optim/separate_momentum.hpp"

namespace paragrad::optim {
namespace {

struct QhmOptions {
  double nu = 0.7;

  void describe(core::OptionList& list) {
    for (const char* name : {"momentum", "momentum-time-constant"}) list.uses(name);
    list.group("Local optimiser");
    list.number("qhm-nu", nu, core::a_share, "weight nu of the momentum beside the plain gradient (0: SGD, 1: momentum)");
  }
};

/// Quasi-hyperbolic momentum (Ma and Yarats, ICLR 2019): a mean of an SGD step and a step of momentum with unit gain,
///
///   v = μv + g;  w -= rate·((1-ν) g + ν (1-μ) v)
///
/// where g includes L2. v is kept without the factor 1-μ of the paper, as in the other rules here.
class Qhm : public SeparateMomentum {
 public:
  Qhm(const OptimiserContext& from, double nu) : SeparateMomentum(from.device, from.parameters, false), nu_(nu) {}

  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override {
    const auto nu = static_cast<float>(nu_);
    queue.run(backend::Descend{step.rate * (1 - nu), step.decay, range.of(gradients()), range.of(parameters)});
    step.rate *= nu * (1 - step.momentum);
    step.decay = 0;  // is in the gradient now
    SeparateMomentum::update(queue, range, step, parameters);
  }

 private:
  double nu_;
};

}  // namespace

OptimiserEntry qhm_entry() {
  OptimiserEntry entry = momentum_entry_of<QhmOptions>(
      {.name = "qhm",
       .summary = "quasi-hyperbolic momentum: part of the step by the gradient, part by the momentum",
       .source = "Ma and Yarats, ICLR 2019",
       .formula = "v = mu v + g\nw = w - rate ((1 - nu) g + nu (1 - mu) v)"},
      [](const OptimiserContext& from, const QhmOptions& options) { return std::make_unique<Qhm>(from, options.nu); });
  entry.has_unit_gain = true;
  return entry;
}

}  // namespace paragrad::optim
