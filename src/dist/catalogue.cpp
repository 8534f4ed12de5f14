#include "core/errors.hpp"
#include "dist/async_sgd.hpp"
#include "dist/backup_workers.hpp"
#include "dist/bmuf.hpp"
#include "dist/bmuf_adam.hpp"
#include "dist/bounded_staleness.hpp"
#include "dist/data_parallel.hpp"
#include "dist/diloco.hpp"
#include "dist/easgd.hpp"
#include "dist/lazy_sgd.hpp"
#include "dist/model_averaging.hpp"
#include "dist/post_local_sgd.hpp"
#include "dist/sgd.hpp"
#include "dist/slowmo.hpp"
#include "dist/staleness_scaled.hpp"
#include "dist/strategy.hpp"

namespace paragrad::dist {

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options) {
#define STRATEGY(known, Type, options_used, description) \
  if (name == #known) return std::make_unique<Type>(options);
#include "dist/catalogue.def"
#undef STRATEGY
  std::vector<std::string> known;
  for (const StrategyEntry& entry : strategy_catalogue()) known.push_back(entry.name);
  throw core::unknown_name("strategy", name, known);
}

std::vector<StrategyEntry> strategy_catalogue() {
  return {
#define STRATEGY(name, Type, options, description) {#name, options, description},
#include "dist/catalogue.def"
#undef STRATEGY
  };
}

}  // namespace paragrad::dist
