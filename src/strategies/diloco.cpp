#include "backend/kernels/fill.hpp"
#include "core/format.hpp"
#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {
namespace {

struct DiLoCoOptions : OuterOptions {
  OuterStepOptions outer;
  std::uint64_t restart = 0;

  void describe(core::OptionList& list) {
    OuterOptions::describe(list);
    outer.describe(list);
    list.number("outer-restart", restart, {.least = 0, .most = 1'000'000'000},
                "outer steps after which the outer momentum starts from zero again (0: never)");
  }
};

/// DiLoCo (Douillard et al., arXiv 2311.08105, 2023): an outer SGD with Nesterov momentum, in the form of torch.optim.SGD.
/// Its gradient is the negative of the workers' mean displacement:
///
///   g = x - x_avg;  v = μ v + g;  x = x - lr (g + μ v)
///
/// The local optimisers keep their state. BMUF of kind nbm with η = μ and
/// ζ = lr has the same starting points; its W is x without the look-ahead. Here x itself is evaluated and saved, as this
/// form has no other model, nor have the known implementations. `outer-restart` K sets v = 0 before steps K + 1, 2K + 1, …
class DiLoCo : public OuterOptimiser {
 public:
  DiLoCo(const DiLoCoOptions& options, const StrategyContext& context)
      : OuterOptimiser({.name = "outer",
                        .momentum = options.outer.momentum,
                        .learning_rate = options.outer.learning_rate,
                        .reset_local_momentum = false},
                       options, context),
        restart_(options.restart) {}

  Remarks explain(const Extent& extent) const override {
    Remarks remarks = OuterOptimiser::explain(extent);
    remarks.lines.push_back(core::format("inner optimiser: {}{}", extent.optimiser,
                                         extent.optimiser == "adamw" ? ", as in the paper" : "; the paper uses adamw"));
    return remarks;
  }

  void start(comm::Worker& worker, Replica& replica) override {
    OuterOptimiser::start(worker, replica);
    steps_ = 0;
  }

  void describe_state(core::StateView& state) override {
    OuterOptimiser::describe_state(state);
    if (restart_ > 0) state.add("outer_steps", steps_, core::Rescale::equal);
  }

 private:
  void outer_step(comm::Worker& worker, const OuterPart& part, double local_rate) override;

  std::uint64_t restart_;
  std::uint64_t steps_ = 0;  // taken
};

void DiLoCo::outer_step(comm::Worker& worker, const OuterPart& part, double /*local_rate*/) {
  if (restart_ > 0 && steps_ > 0 && steps_ % restart_ == 0) worker.run(backend::Fill{0, part.momentum});
  ++steps_;
  nesterov_step(worker.comm(), part, settings().learning_rate, settings().momentum);
}

}  // namespace

StrategyEntry diloco_entry() {
  return entry_of<DiLoCo, DiLoCoOptions>(
      {.name = "diloco",
       .summary = "Nesterov SGD on the averaged update; local optimisers keep their state",
       .source = "Douillard et al., 2023",
       .formula = "g = x - mean of the local models\nv = mu v + g\nx = x - rate (g + mu v)"});
}

}  // namespace paragrad::strategies
