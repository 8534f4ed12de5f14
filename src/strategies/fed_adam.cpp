#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/scale.hpp"
#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {
namespace {

struct FedAdamOptions : OuterOptions {
  double learning_rate = 0.01;  // η
  double adaptivity = 1e-3;     // τ

  void describe(core::OptionList& list) {
    OuterOptions::describe(list);
    list.group("Block updates");
    list.number("adaptive-learning-rate", learning_rate, core::above_zero,
                "learning rate of the outer Adam, about the largest step of a parameter per block");
    list.number("adaptivity", adaptivity, core::above_zero,
                "added to the denominator of the outer Adam: updates that are small beside it are not enlarged");
  }
};

/// FedAdam (Reddi et al., "Adaptive federated optimization", ICLR 2021): an outer Adam without bias correction, for the mean
/// displacement of the workers,
///
///   D = x_avg - x;  m = β1 m + (1-β1) D;  v = β2 v + (1-β2) D²;  x = x + η m/(√v + τ)
///
/// with β1 = 0.9, β2 = 0.99 and v = τ² at first, as published. The local optimisers keep their state. State: 3/N of a model
/// per worker, with compression three models.
class FedAdam : public OuterOptimiser {
 public:
  FedAdam(const FedAdamOptions& options, const StrategyContext& context)
      : OuterOptimiser(
            {.name = "adaptive", .momentum = 0.9, .learning_rate = options.learning_rate, .reset_local_momentum = false},
            options, context),
        adaptivity_(options.adaptivity) {}

  void start(comm::Worker& worker, Replica& replica) override {
    OuterOptimiser::start(worker, replica);
    squares_ = worker.device().allocate(owned().size());
    const auto first = static_cast<float>(adaptivity_ * adaptivity_);
    worker.run(backend::Fill{first, squares_.span()});
  }

  void describe_state(core::StateView& state) override {
    OuterOptimiser::describe_state(state);
    state.add("adaptive_squares", squares_.span(), {owned()});
  }

 private:
  void outer_step(comm::Worker& worker, const OuterPart& part, double /*local_rate*/) override {
    const backend::AdamStep step{
        .rate = settings().learning_rate, .beta1 = settings().momentum, .beta2 = 0.99, .epsilon = adaptivity_};
    const std::span<float> gradient = part.average;  // -D, in its place
    worker.run(backend::Scale{-1, gradient}, backend::Add{part.model, gradient},
               backend::AdamUpdate{step, gradient, part.momentum, squares_.span(), part.model},
               backend::Copy{part.model, part.average});
  }

  double adaptivity_;
  core::Arena squares_;  // v, [owned]
};

}  // namespace

StrategyEntry fed_adam_entry() {
  return entry_of<FedAdam, FedAdamOptions>(
      {.name = "fed_adam",
       .summary = "Adam on the averaged update; local optimisers keep their state",
       .source = "FedAdam: Reddi et al., ICLR 2021",
       .formula =
           "D = mean of the local models - x\nm = 0.9 m + 0.1 D\nv = 0.99 v + 0.01 D^2\nx = x + rate m / (sqrt(v) + tau)"});
}

}  // namespace paragrad::strategies
