#include "core/range.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {
namespace {

Partition deal_shards(const Task& task, std::size_t each) {
  const std::size_t shards = each * task.workers;
  if (shards > task.units.count())
    throw core::ConfigError(core::format("{} shards for each of {} workers are more than the {} {}: choose fewer", each,
                                         task.workers, task.units.count(), task.units.noun()));
  std::vector<std::uint32_t> sorted;
  for (const auto& units : by_label(task)) sorted.insert(sorted.end(), units.begin(), units.end());
  const core::RandomStream stream(task.seed, core::Purpose::division, static_cast<std::uint32_t>(Draws::Use::deals));
  const std::vector<std::uint32_t> order = stream.permutation(static_cast<std::uint32_t>(shards));
  Shares shares(task.workers);
  for (std::size_t i = 0; i < shards; ++i) {
    const auto shard = core::part_of(sorted.size(), shards, order[i]).of(std::span(sorted));
    shares[i / each].insert(shares[i / each].end(), shard.begin(), shard.end());
  }
  return of_shares(task, std::move(shares));
}

}  // namespace

Entry shards_partitioner() {
  return partitioner(
      {.name = "shards",
       .parameter = ":COUNT",
       .example = ":2",
       .summary = "by label: samples sorted by class and cut into shards, COUNT for each worker, so that each has "
                  "few classes",
       .source = "McMahan et al., AISTATS 2017"},
      core::Limits<std::size_t>{.least = 1, .most = 1'000'000}, deal_shards);
}

}  // namespace paragrad::data::partitioners
