#include "worlds/launch_rules.hpp"

#include <algorithm>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::worlds {
namespace {

using comm::collectives::Entry;

std::string chosen_value(const CLI::App& training, const std::string& option) {
  const CLI::Option* const found = training.get_option(option);
  return found->count() > 0 ? found->as<std::string>() : found->get_default_str();
}

/// The algorithms that --collective names: "hierarchical:ring+tree" names three.
std::vector<Entry> chosen_algorithms(const CLI::App& training) {
  const std::vector<std::string> names =
      CLI::detail::split(CLI::detail::find_and_replace(chosen_value(training, "--collective"), "+", ":"), ':');
  std::vector<Entry> chosen;
  for (const Entry& entry : comm::algorithms())
    if (std::ranges::find(names, entry.info.name) != names.end()) chosen.push_back(entry);
  return chosen;
}

bool heeds_nodes(const Entry& entry) {
  return std::ranges::any_of(entry.info.options,
                             [](const auto& option) { return option.name == comm::collectives::option_of_nodes; });
}

}  // namespace

void require_survivable(const CLI::App& training) {
  std::vector<std::string> own;
  for (const Entry& entry : comm::algorithms())
    if (entry.allreduce && !entry.library) own.push_back(entry.info.name);
  for (const Entry& entry : chosen_algorithms(training))
    if (entry.library)
      throw core::ConfigError(core::format(
          "--collective {} is a library's routine for one worker per rank, which cannot continue without a rank: launch "
          "needs one of {}",
          entry.info.name, core::join(own, ", ")));
}

std::string dependence_on_ranks(const CLI::App& training) {
  if (strategies::strategy_entry(chosen_value(training, "--strategy")).has_servers)
    return "the order in which asynchronous workers are served is never the same";
  if (const CLI::Option* balance = training.get_option("--balance"); balance->count() > 0 && balance->as<bool>())
    return "--balance measures the workers' speed";
  for (const Entry& entry : chosen_algorithms(training))
    if (heeds_nodes(entry) && chosen_value(training, core::format("--{}", comm::collectives::option_of_nodes)) == "0")
      return core::format("--collective {} adds in an order that depends on the workers per node: give --workers-per-node",
                          entry.info.name);
  return "";
}

}  // namespace paragrad::worlds
