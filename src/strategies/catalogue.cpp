#include "strategies/strategy.hpp"

namespace paragrad::strategies {

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> entries{
#define STRATEGY(name) name##_entry(),
#include "strategies/catalogue.def"
#undef STRATEGY
  };
  return entries;
}

core::CatalogueInfo strategy_catalogue() { return core::info_of("strategy", "strategies", strategies()); }

const StrategyEntry& strategy_entry(std::string_view name) { return core::find_entry("strategy", name, strategies()); }

std::unique_ptr<Strategy> make_strategy(std::string_view name, const core::Settings& settings,
                                        const StrategyContext& context) {
  const StrategyEntry& entry = strategy_entry(name);
  core::check_settings(entry.info, "strategy", settings);
  StrategyContext complete = context;
  complete.settings = settings;
  return entry.make(complete);
}

}  // namespace paragrad::strategies
