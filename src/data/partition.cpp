#include "data/partition.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"
#include "data/hdf5_file.hpp"
#include "data/partition_units.hpp"
#include "data/trial_read.hpp"

namespace paragrad::data {
namespace {

constexpr std::string_view folder = "/partitions";
constexpr std::string_view unit_of_utterances = "utterances";

std::string group_name(std::size_t workers, std::size_t blocks, std::uint64_t seed, const std::string& kind) {
  const std::string name = core::format("{}/{}x{}-s{}", folder, workers, blocks, seed);
  return kind == random_kind ? name : core::format("{}-{}", name, kind);
}

bool holds_each_once(std::span<const std::uint32_t> order) {
  std::vector<bool> seen(order.size(), false);
  for (const auto row : order) {
    if (row >= order.size() || seen[row]) return false;
    seen[row] = true;
  }
  return true;
}

bool cuts_evenly(std::span<const std::uint64_t> starts, std::uint64_t samples) {
  const std::uint64_t least = samples / (starts.size() - 1);
  if (starts.front() != 0 || starts.back() != samples) return false;
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] < starts[i - 1] || starts[i] - starts[i - 1] < least || starts[i] - starts[i - 1] > least + 1)
      return false;
  return true;
}

bool holds_nothing_empty(std::span<const std::uint64_t> starts, std::uint64_t samples) {
  return starts.front() == 0 && starts.back() == samples &&
         std::ranges::adjacent_find(starts, std::greater_equal()) == starts.end();
}

/// Whether each sequence is contiguous, from its first row to its last, and within one split.
bool keeps_sequences(std::span<const std::uint32_t> order, std::span<const std::uint64_t> starts,
                     std::span<const std::int64_t> offsets) {
  if (offsets.empty() || starts.front() != 0 || starts.back() != order.size()) return false;
  std::size_t split = 1;
  for (std::size_t at = 0; at < order.size();) {
    const auto found = std::lower_bound(offsets.begin(), offsets.end() - 1, std::int64_t{order[at]});
    if (found == offsets.end() - 1 || *found != order[at]) return false;
    const auto length = static_cast<std::size_t>(found[1] - found[0]);
    if (length > order.size() - at) return false;
    for (std::size_t i = 1; i < length; ++i)
      if (order[at + i] != order[at] + i) return false;
    at += length;
    if (starts[split] < at) return false;
    if (starts[split] == at) ++split;
  }
  return split == starts.size();
}

void check_samples(std::size_t samples) {
  if (samples > std::numeric_limits<std::uint32_t>::max())
    throw core::ConfigError(
        core::format("a training set of {} samples is too large to partition (at most 2^32 - 1)", samples));
}

void check_counts(std::size_t samples, std::size_t workers, std::size_t blocks) {
  if (workers < 1 || blocks < 1)
    throw core::ConfigError(
        core::format("a partition {}x{} has no splits; both numbers must be at least 1", workers, blocks));
  if (workers > samples / blocks)  // workers * blocks > samples without overflow
    throw core::ConfigError(core::format(
        "a partition {}x{} has more splits than the {} samples of the training set; use fewer workers or fewer blocks",
        workers, blocks, samples));
}

/// Whether the array has one dimension of this length; checked before reading, so that a wrong length costs no memory.
bool has_length(const Hdf5File& file, const std::string& array, std::size_t length) {
  return file.exists(array) && file.array_info(array).shape == std::vector<std::size_t>{length};
}

}  // namespace

Partition::Partition(std::vector<std::uint32_t> order, std::vector<std::uint64_t> starts, std::size_t samples,
                     std::size_t workers, std::size_t blocks, std::uint64_t seed)
    : order_(std::move(order)),
      starts_(std::move(starts)),
      samples_(samples),
      workers_(workers),
      blocks_(blocks),
      seed_(seed) {}

Partition Partition::random(std::size_t samples, std::size_t workers, std::size_t blocks, std::uint64_t seed) {
  check_counts(samples, workers, blocks);
  check_samples(samples);
  auto order = core::RandomStream(seed, core::Purpose::partition).permutation(static_cast<std::uint32_t>(samples));
  return {std::move(order), {}, samples, workers, blocks, seed};
}

Partition Partition::of_utterances(std::span<const std::int64_t> offsets, std::size_t workers, std::size_t blocks,
                                   std::uint64_t seed) {
  if (offsets.size() < 2)
    throw core::ConfigError("the training set has no utterances, so it cannot be partitioned by whole utterances");
  const std::size_t utterances = offsets.size() - 1;
  if (workers < 1 || blocks < 1 || workers > utterances / blocks)
    throw core::ConfigError(
        core::format("a partition {}x{} of whole utterances needs at least one split and one utterance per split, but the "
                     "training set has {}; choose other numbers of workers and blocks",
                     workers, blocks, utterances));
  const auto samples = static_cast<std::size_t>(offsets.back());
  check_samples(samples);
  constexpr std::uint32_t whole_utterances = 1;  // step of the stream, so that the order differs from that of samples
  const auto shuffled = core::RandomStream(seed, core::Purpose::partition, whole_utterances)
                            .permutation(static_cast<std::uint32_t>(utterances));
  std::vector<std::uint32_t> order;
  order.reserve(samples);
  std::vector<std::uint64_t> ends{0};
  for (const auto u : shuffled) {
    for (std::int64_t row = offsets[u]; row < offsets[u + 1]; ++row) order.push_back(static_cast<std::uint32_t>(row));
    ends.push_back(order.size());
  }
  auto starts = cut_at_ends(ends, workers * blocks);
  Partition partition(std::move(order), std::move(starts), samples, workers, blocks, seed);
  partition.whole_utterances_ = true;
  return partition;
}

Partition Partition::of_pieces(std::span<const std::uint32_t> begins) const {
  if (!whole_utterances_ || !has_rows()) throw std::logic_error("Partition::of_pieces: splits that are not of utterances");
  constexpr std::uint32_t first_step = 2;  // of the streams: steps 0 and 1 order samples and utterances
  std::vector<std::uint32_t> order;
  std::vector<std::uint64_t> starts{0};
  for (std::size_t split = 0; split < workers_ * blocks_; ++split) {
    std::vector<std::uint32_t> pieces;
    for (const std::uint32_t row : rows({start(split), start(split + 1)}))
      if (const auto found = std::ranges::lower_bound(begins, row); found != begins.end() && *found == row)
        pieces.push_back(static_cast<std::uint32_t>(found - begins.begin()));
    const core::RandomStream stream(seed_, core::Purpose::partition, first_step + static_cast<std::uint32_t>(split));
    for (const std::uint32_t i : stream.permutation(static_cast<std::uint32_t>(pieces.size()))) order.push_back(pieces[i]);
    starts.push_back(order.size());
  }
  Partition pieces({std::move(order), std::move(starts), begins.size(), workers_, blocks_, seed_});
  pieces.kind_ = kind_;
  return pieces;
}

Partition Partition::of_splits(std::vector<std::uint32_t> order, std::vector<std::uint64_t> starts, std::size_t workers,
                               std::size_t blocks, std::uint64_t seed, bool whole_utterances) {
  const std::size_t samples = order.size();
  if (starts.size() != workers * blocks + 1 || !holds_each_once(order) || !holds_nothing_empty(starts, samples))
    throw std::logic_error("Partition::of_splits: no partition");
  Partition partition(std::move(order), std::move(starts), samples, workers, blocks, seed);
  partition.whole_utterances_ = whole_utterances;
  return partition;
}

Partition Partition::of_sizes(std::size_t samples, std::size_t workers, std::size_t blocks, std::uint64_t seed) {
  check_counts(samples, workers, blocks);
  return {{}, {}, samples, workers, blocks, seed};
}

std::optional<Partition> Partition::find(const Dataset& dataset, std::size_t workers, std::size_t blocks, std::uint64_t seed,
                                         const std::string& kind) {
  return read_after_trial(dataset.info().path, [&](bool for_real) {
    return read(dataset, {"", workers, blocks, seed, kind}, for_real);
  });
}

std::optional<Partition> Partition::read(const Dataset& dataset, const PartitionName& name, bool for_real) {
  const auto& [_, workers, blocks, seed, kind] = name;
  const auto& info = dataset.info();
  const auto group = group_name(workers, blocks, seed, kind);
  const auto file = Hdf5File::open(info.path);
  if (!file.exists(group)) return {};
  const auto broken = [&](std::string_view what) {
    return core::ConfigError(core::format("partition '{}' of '{}' {}; create the data file and its partitions again",
                                          group.substr(folder.size() + 1), info.path, what));
  };
  if (file.text(group, "dataset_sha256") != info.content_sha256) throw broken("belongs to another data set");
  const std::size_t samples = info.samples[static_cast<std::size_t>(Subset::train)];
  if (file.count(group, "workers") != workers || file.count(group, "blocks") != blocks ||
      file.count(group, "seed") != seed || file.count(group, "samples") != samples)
    throw broken("contradicts its own description");
  if (workers == 0 || blocks == 0 || workers > samples / blocks || !has_length(file, group + "/index", samples) ||
      !has_length(file, group + "/starts", workers * blocks + 1))
    throw broken("has the wrong length");
  const bool whole_utterances = file.has_attribute(group, "unit") && file.text(group, "unit") == unit_of_utterances;
  const auto in_one_piece = [&](const char* array) { return file.array_info(group + array).file_offset.has_value(); };
  if (!for_real && in_one_piece("/index") && in_one_piece("/starts")) return {};
  auto order = file.read<std::uint32_t>(group + "/index");
  auto starts = file.read<std::uint64_t>(group + "/starts");
  if (!holds_each_once(order)) throw broken("does not contain each sample exactly once");
  if (whole_utterances && !keeps_sequences(order, starts, dataset.offsets(Subset::train)))
    throw broken("does not keep each utterance in one split");
  if (!whole_utterances && kind == random_kind && !cuts_evenly(starts, samples))
    throw broken("has splits whose sizes differ by more than one");
  if (!holds_nothing_empty(starts, samples)) throw broken("has a split without samples");
  Partition partition(std::move(order), std::move(starts), samples, workers, blocks, seed);
  partition.whole_utterances_ = whole_utterances;
  partition.kind_ = kind;
  return partition;
}

void Partition::store(const std::string& path) const {
  const auto info = Dataset::open(path)->info();
  const std::size_t samples = info.samples[static_cast<std::size_t>(Subset::train)];
  if (samples != samples_)
    throw core::ConfigError(
        core::format("a partition of {} samples does not fit the {} training samples of '{}'", samples_, samples, path));
  const auto group = group_name(workers_, blocks_, seed_, kind_);
  if (read_after_trial(path, [&](bool) { return Hdf5File::open(path).exists(group); }))
    throw core::ConfigError(core::format("'{}' already has a partition {}; choose another seed, or use that one", path,
                                         group.substr(folder.size() + 1)));
  auto file = Hdf5File::revise(path);
  std::vector<std::uint64_t> starts(workers_ * blocks_ + 1);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = start(i);
  file.write(group + "/index", rows({0, samples_}));
  file.write(group + "/starts", std::span<const std::uint64_t>(starts));
  file.set_count(group, "workers", workers_);
  file.set_count(group, "blocks", blocks_);
  file.set_count(group, "seed", seed_);
  file.set_count(group, "samples", samples_);
  file.set_text(group, "dataset_sha256", info.content_sha256);
  if (whole_utterances_) file.set_text(group, "unit", std::string(unit_of_utterances));
  file.finish();
}

Partition Partition::without_rows() const {
  Partition sizes({}, starts_, samples_, workers_, blocks_, seed_);
  sizes.whole_utterances_ = whole_utterances_;
  sizes.kind_ = kind_;
  return sizes;
}

Partition Partition::of_kind(std::string kind) && {
  kind_ = std::move(kind);
  return std::move(*this);
}

std::size_t blocks_of_duration(const DatasetInfo& info, std::size_t workers, double split_duration_s) {
  if (!(info.frame_shift_s > 0))
    throw core::ConfigError(
        core::format("'{}' does not state how long a sample lasts (frame_shift_s): give the number of blocks", info.path));
  if (!(split_duration_s > 0) || workers < 1)
    throw core::ConfigError("splits need a duration above zero and at least one worker");
  const double duration_s = static_cast<double>(info.samples[0]) * info.frame_shift_s;
  return static_cast<std::size_t>(std::max(1., std::round(duration_s / (split_duration_s * static_cast<double>(workers)))));
}

std::size_t Partition::start(std::size_t split) const {
  const std::size_t splits = workers_ * blocks_;
  if (split == splits) return samples_;
  return starts_.empty() ? core::part_of(samples_, splits, split).begin : starts_[split];
}

core::Range Partition::split_range(std::size_t block, std::size_t worker) const {
  if (block >= blocks_ || worker >= workers_) throw std::out_of_range("Partition::split_range: no such split");
  const std::size_t i = block * workers_ + worker;
  return {start(i), start(i + 1)};
}

core::Range Partition::block_range(std::size_t block) const {
  if (block >= blocks_) throw std::out_of_range("Partition::block_range: no such block");
  return {start(block * workers_), start((block + 1) * workers_)};
}

std::span<const std::uint32_t> Partition::rows(core::Range positions) const {
  if (!has_rows()) throw std::logic_error("Partition::rows: this partition knows sizes only");
  return positions.of(std::span(order_));
}

namespace {

/// Zeros unless `group` is exactly what group_name() gives for what is in it.
PartitionName parse_name(const std::string& group) {
  const auto number = [&](std::size_t begin, std::size_t end, std::uint64_t& value) {
    return std::from_chars(group.data() + begin, group.data() + end, value).ec == std::errc();
  };
  const auto cross = group.find('x'), dash = group.find("-s");
  std::uint64_t workers = 0, blocks = 0, seed = 0;
  if (cross == std::string::npos || dash == std::string::npos || dash < cross) return {group};
  const auto second = std::min(group.find('-', dash + 1), group.size());
  const std::string kind = second < group.size() ? group.substr(second + 1) : std::string(random_kind);
  if (!number(0, cross, workers) || !number(cross + 1, dash, blocks) || !number(dash + 2, second, seed) ||
      group_name(workers, blocks, seed, kind) != core::format("{}/{}", folder, group))
    return {group};
  return {group, workers, blocks, seed, kind};
}

}  // namespace

std::vector<PartitionName> stored_partitions(const Dataset& dataset) {
  const auto groups = read_after_trial(dataset.info().path, [&](bool) {
    const auto file = Hdf5File::open(dataset.info().path);
    return file.exists(std::string(folder)) ? file.children(std::string(folder)) : std::vector<std::string>();
  });
  std::vector<PartitionName> names;
  for (const auto& group : groups) names.push_back(parse_name(group));
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return std::tie(a.workers, a.blocks, a.seed, a.kind, a.group) < std::tie(b.workers, b.blocks, b.seed, b.kind, b.group);
  });
  return names;
}

}  // namespace paragrad::data
