#include "core/errors.hpp"
#include "strategies/async_sgd.hpp"
#include "strategies/backup_workers.hpp"
#include "strategies/bmuf.hpp"
#include "strategies/bmuf_adam.hpp"
#include "strategies/bounded_staleness.hpp"
#include "strategies/data_parallel.hpp"
#include "strategies/diloco.hpp"
#include "strategies/easgd.hpp"
#include "strategies/lazy_sgd.hpp"
#include "strategies/model_averaging.hpp"
#include "strategies/post_local_sgd.hpp"
#include "strategies/sgd.hpp"
#include "strategies/slowmo.hpp"
#include "strategies/staleness_scaled.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options) {
#define STRATEGY(known, Type, options_used, description) \
  if (name == #known) return std::make_unique<Type>(options);
#include "strategies/catalogue.def"
#undef STRATEGY
  std::vector<std::string> known;
  for (const StrategyEntry& entry : strategy_catalogue()) known.push_back(entry.name);
  throw core::unknown_name("strategy", name, known);
}

std::vector<StrategyEntry> strategy_catalogue() {
  return {
#define STRATEGY(name, Type, options, description) {#name, options, description},
#include "strategies/catalogue.def"
#undef STRATEGY
  };
}

}  // namespace paragrad::strategies
