#include <algorithm>
#include <numeric>

#include "core/join.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

/// The groups in the order of their sizes, each to the worker that has fewest samples so far.
Partition deal_groups(const Task& task, const std::string& by) {
  const std::vector<std::uint32_t> group_of = task.units.groups(by);
  std::vector<std::vector<std::uint32_t>> groups(*std::ranges::max_element(group_of) + std::size_t{1});
  std::vector<std::size_t> samples(groups.size(), 0);
  for (std::uint32_t unit = 0; unit < group_of.size(); ++unit) {
    groups[group_of[unit]].push_back(unit);
    samples[group_of[unit]] += task.units.samples_of(unit).size();
  }
  if (groups.size() < task.workers)
    throw core::ConfigError(
        core::format("{} {}{} cannot be divided among {} workers: choose fewer workers, or another partition", groups.size(),
                     by, groups.size() == 1 ? "" : "s", task.workers));
  const core::RandomStream stream(task.seed, core::Purpose::division, static_cast<std::uint32_t>(Draws::Use::order));
  std::vector<std::uint32_t> order = stream.permutation(static_cast<std::uint32_t>(groups.size()));
  std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t group) { return samples[group]; });
  Shares shares(task.workers);
  std::vector<std::size_t> loads(task.workers, 0);
  for (const std::uint32_t group : order) {
    const auto worker = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
    shares[worker].insert(shares[worker].end(), groups[group].begin(), groups[group].end());
    loads[worker] += samples[group];
  }
  return of_shares(task, std::move(shares));
}

}  // namespace

Entry grouped_partitioner() {
  return partitioner(
      {.name = "grouped",
       .parameter = ":BY",
       .example = ":label",
       .summary = "all samples of a speaker, client, label or document (of a text) to one worker, in numbers as "
                  "equal as these allow"},
      {"speaker", "client", "label", "document"}, deal_groups);
}

}  // namespace paragrad::data::partitioners
