#include "train/training_options.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {

int replicas(const TrainingOptions& options, int workers) {
  if (options.tensor_parallel < 1 || workers % options.tensor_parallel != 0)
    throw core::ConfigError(core::format("--tensor-parallel {}: the worker count must be a multiple of it, but is {}",
                                         options.tensor_parallel, workers));
  return workers / options.tensor_parallel;
}

std::unique_ptr<strategies::Strategy> make_strategy(const TrainingOptions& options) {
  strategies::StrategyOptions strategy = options.strategy_options;
  strategy.server.rule = options.optimiser;
  return strategies::make_strategy(options.strategy, strategy);
}

}  // namespace paragrad::train
