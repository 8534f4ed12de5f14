#include "core/errors.hpp"
#include "core/format.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {
namespace {

/// The baseline: one worker with local updates only.
class Sgd : public Strategy {
 public:
  explicit Sgd(const core::NoOptions&) : Strategy(Share::minibatch) {}

  void start(comm::Worker& worker, Replica&) override {
    if (worker.size() > 1)
      throw core::ConfigError(
          core::format("the strategy 'sgd' trains with one worker, not {}; choose data_parallel, model_averaging or bmuf",
                       worker.size()));
  }
};

}  // namespace

StrategyEntry sgd_entry() {
  return entry_of<Sgd, core::NoOptions>({.name = "sgd", .summary = "minibatch SGD on a single worker"}, Share::minibatch);
}

}  // namespace paragrad::strategies
