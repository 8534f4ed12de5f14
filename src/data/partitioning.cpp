#include "data/partitioning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/format.hpp"
#include "core/json.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data {
namespace {

const std::vector<partitioners::Entry>& all_partitioners() {
  static const std::vector<partitioners::Entry> entries{
#define PARTITIONER(name) partitioners::name##_partitioner(),
#include "data/partitioners/catalogue.def"
#undef PARTITIONER
  };
  return entries;
}

struct Chosen {
  std::string kind;
  partitioners::Partitioner partitioner;
};

Chosen chosen(std::string_view kind) {
  const partitioners::Entry& entry = core::find_entry("partition", kind, all_partitioners());
  const std::string& name = entry.info.name;
  if (entry.info.parameter.empty()) return {name, entry.make("")};
  if (kind.size() <= name.size() + 1)
    throw core::OptionError("partition", core::format("write {}{}", name, entry.info.parameter));
  partitioners::Partitioner partitioner = entry.make(kind.substr(name.size() + 1));
  return {core::format("{}:{}", name, partitioner.parameter), std::move(partitioner)};
}

}  // namespace

core::CatalogueInfo partitioner_catalogue() { return core::info_of("partition", "partitions", all_partitioners()); }

std::string settled_kind(std::string_view kind) { return chosen(kind).kind; }

Partition divide(const PartitionUnits& units, std::string_view kind, std::size_t workers, std::size_t blocks,
                 std::uint64_t seed) {
  const auto [settled, partitioner] = chosen(kind);
  if (settled != random_kind && (workers < 1 || blocks < 1 || workers > units.count() / blocks))
    throw core::ConfigError(
        core::format("a partition {}x{} needs at least one split, and one of {} {} for each: choose other numbers of "
                     "workers and blocks",
                     workers, blocks, units.count(), units.noun()));
  if (settled != random_kind && units.samples() > std::numeric_limits<std::uint32_t>::max())
    throw core::ConfigError(core::format(
        "a training set of {} samples is too large for a partition other than random (at most 2^32 - 1)", units.samples()));
  return partitioner.divide({units, workers, blocks, seed}).of_kind(settled);
}

PartitionSpread spread_of(const Partition& partition, const Dataset* dataset) {
  const bool labelled = dataset != nullptr && partition.has_rows() && dataset->info().has_labels();
  const std::size_t workers = partition.workers();
  std::vector<std::vector<double>> counts(labelled ? workers : 0);
  for (auto& of_worker : counts) of_worker.resize(dataset->info().classes);
  PartitionSpread spread{.least = partition.samples(), .least_of_split = partition.samples()};
  for (std::size_t worker = 0; worker < workers; ++worker) {
    std::size_t samples = 0;
    for (std::size_t block = 0; block < partition.blocks(); ++block) {
      const core::Range split = partition.split_range(block, worker);
      spread.least_of_split = std::min(spread.least_of_split, split.size());
      spread.most_of_split = std::max(spread.most_of_split, split.size());
      samples += split.size();
      if (!labelled) continue;
      for (const std::uint32_t row : partition.rows(split)) counts[worker][class_of(*dataset, row)] += 1;
    }
    spread.least = std::min(spread.least, samples);
    spread.most = std::max(spread.most, samples);
  }
  if (!labelled) return spread;
  std::vector<double> all(dataset->info().classes);
  for (const auto& of_worker : counts)
    for (std::size_t k = 0; k < all.size(); ++k) all[k] += of_worker[k] / static_cast<double>(partition.samples());
  double sum = 0;
  for (const auto& of_worker : counts) {
    double samples = 0;
    for (const double count : of_worker) samples += count;
    for (std::size_t k = 0; k < all.size(); ++k) sum += std::abs(of_worker[k] / samples - all[k]) / 2;
  }
  spread.label_distance = sum / static_cast<double>(workers);
  return spread;
}

core::Json to_json(const std::string& kind, const PartitionSpread& spread) {
  core::Json json{{"kind", kind}, {"samples", {spread.least, spread.most}}};
  if (spread.label_distance >= 0) json["label_distance"] = spread.label_distance;
  return json;
}

std::string describe(const PartitionSpread& spread) {
  std::string text = spread.least == spread.most ? core::format("{} samples per worker", spread.least)
                                                 : core::format("{} to {} samples per worker", spread.least, spread.most);
  if (spread.label_distance >= 0)
    text += core::format(", whose label distributions are {:.2f} from the mean", spread.label_distance);
  return text;
}

}  // namespace paragrad::data
