#include "train/training_options.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {

int replicas(const TrainingOptions& options, int workers) {
  if (options.tensor_parallel < 1 || workers % options.tensor_parallel != 0)
    throw core::ConfigError(core::format("`tensor-parallel` {}: the worker count must be a multiple of it, but is {}",
                                         options.tensor_parallel, workers));
  return workers / options.tensor_parallel;
}

std::unique_ptr<strategies::Strategy> make_strategy(const TrainingOptions& options) {
  strategies::StrategyContext context{.seed = options.seed, .server = options.servers};
  context.server.rule = options.optimiser;
  if (has_servers(options)) context.server.momentum = momentum_unit(options);
  return strategies::make_strategy(options.strategy, options.strategy_settings, context);
}

void serve_with(const TrainingOptions& options, comm::Worker& all_ranks, int workers) {
  dynamic_cast<strategies::ServedStrategy&>(*make_strategy(options)).serve(all_ranks, workers);
}

}  // namespace paragrad::train
