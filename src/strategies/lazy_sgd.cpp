#include <cmath>

#include "core/errors.hpp"
#include "strategies/async_sgd.hpp"

namespace paragrad::strategies {

namespace {

struct LazyOptions : PushOptions {
  double threshold = 0.01;  // c
  std::size_t minibatches = 8;

  void describe(core::OptionList& list) {
    PushOptions::describe(list);
    list.number("lazy-threshold", threshold, core::zero_or_more,
                "push a step once its norm reaches this fraction of the parameters' norm");
    list.number("lazy-minibatches", minibatches, core::one_or_more, "maximum number of minibatches to hold back");
  }
};

/// Asynchronous SGD in which a worker pushes only significant updates: gradients are accumulated until their step is large
/// relative to the parameters, |rate·Σg| >= c·|w|, or until those of lazy_minibatches minibatches are held back. This is
/// Gaia's significance filter (Hsieh et al., NSDI 2017), applied to the norm of the whole vector instead of each parameter.
/// (LAG, Chen et al., NeurIPS 2018, compares with the last gradient sent, which the server reuses; with random minibatches
/// the two gradients differ by their noise.)
class LazySgd : public AsyncSgd {
 public:
  LazySgd(const LazyOptions& options, const StrategyContext& context) : AsyncSgd(options, context), options_(options) {}

 protected:
  bool due(comm::Worker& worker, Replica& replica) override;
  bool goes_ahead() const override { return true; }

 private:
  LazyOptions options_;
};

bool LazySgd::due(comm::Worker& worker, Replica& replica) {
  if (!worker.device().computes())
    throw core::ConfigError(
        "lazy_sgd depends on gradient values, which a timing run does not have: choose async_sgd with `push-every`");
  if (minibatches() < options().push_every) return false;
  if (minibatches() >= options_.minibatches) return true;
  double gradient = 0, parameters = 0;
  worker.run_kernels([&](backend::KernelQueue& queue) {
    gradient = queue.squared_norm(sum());
    parameters = queue.squared_norm(replica.parameters);
  });
  return step_of_sum().rate * std::sqrt(gradient) >= options_.threshold * std::sqrt(parameters);
}

}  // namespace

StrategyEntry lazy_sgd_entry() {
  return entry_of<LazySgd, LazyOptions>({.name = "lazy_sgd",
                                         .summary = "async_sgd that pushes only significant updates",
                                         .source = "after Gaia, Hsieh et al., NSDI 2017"},
                                        Share::epoch);
}

}  // namespace paragrad::strategies
