#include "data/partition_units.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/range.hpp"

namespace paragrad::data {
namespace {

/// The same values, numbered from 0 in the order of their first occurrence.
template <class T>
std::vector<std::uint32_t> numbered(const std::vector<T>& values) {
  std::unordered_map<T, std::uint32_t> numbers;
  std::vector<std::uint32_t> result;
  result.reserve(values.size());
  for (const T& value : values)
    result.push_back(numbers.try_emplace(value, static_cast<std::uint32_t>(numbers.size())).first->second);
  return result;
}

}  // namespace

PartitionUnits PartitionUnits::of_samples(const Dataset& dataset) {
  PartitionUnits units;
  units.dataset_ = &dataset;
  units.what_ = core::format("'{}'", dataset.info().path);
  units.count_ = dataset.info().samples[0];
  return units;
}

PartitionUnits PartitionUnits::of_utterances(const Dataset& dataset) {
  PartitionUnits units = of_samples(dataset);
  units.offsets_ = dataset.offsets(Subset::train);
  if (units.offsets_.size() < 2)
    throw core::ConfigError("the training set has no utterances, so it cannot be partitioned by whole utterances");
  return units;
}

PartitionUnits PartitionUnits::of_windows(const Dataset& dataset, const Windows& windows) {
  PartitionUnits units;
  units.dataset_ = &dataset;
  units.what_ = core::format("'{}'", dataset.info().path);
  units.windows_ = windows;
  units.count_ = windows.count();
  return units;
}

PartitionUnits PartitionUnits::imaginary(std::size_t count, const std::string& what) {
  PartitionUnits units;
  units.what_ = what;
  units.count_ = count;
  return units;
}

core::Range PartitionUnits::samples_of(std::size_t unit) const {
  if (offsets_.empty()) return {unit, unit + 1};
  return {static_cast<std::size_t>(offsets_[unit]), static_cast<std::size_t>(offsets_[unit + 1])};
}

std::vector<std::size_t> PartitionUnits::labels() const {
  if (dataset_ == nullptr || !dataset_->info().has_labels())
    throw core::ConfigError(core::format("the samples of {} have no labels, by which they could be divided", what_));
  std::vector<std::size_t> labels(count());
  for (std::size_t unit = 0; unit < labels.size(); ++unit) {
    const core::Range samples = samples_of(unit);
    labels[unit] = class_of(*dataset_, samples.begin);
    for (std::size_t sample = samples.begin + 1; sample < samples.end; ++sample)
      if (class_of(*dataset_, sample) != labels[unit])
        throw core::ConfigError(core::format(
            "labels differ within the utterances of {}, so that whole utterances cannot be divided by them", what_));
  }
  return labels;
}

std::vector<std::int64_t> PartitionUnits::clients() const {
  const std::span<const std::int32_t> all = dataset_->columns(Subset::train).clients;
  if (all.empty() || windows_)
    throw core::ConfigError(core::format("the samples of {} have no clients, by which they could be divided", what_));
  std::vector<std::int64_t> clients(count());
  for (std::size_t unit = 0; unit < clients.size(); ++unit) {
    const core::Range samples = samples_of(unit);
    clients[unit] = all[samples.begin];
    for (const std::int32_t one : samples.of(all))
      if (one != clients[unit])
        throw core::ConfigError(core::format(
            "clients differ within the utterances of {}, so that whole utterances cannot be divided by them", what_));
  }
  return clients;
}

/// The sequence that each unit, or its beginning, lies in.
std::vector<std::int64_t> PartitionUnits::sequences() const {
  const std::span<const std::int64_t> offsets = dataset_->offsets(Subset::train);
  std::vector<std::int64_t> sequences(count());
  for (std::size_t unit = 0; unit < sequences.size(); ++unit) {
    const std::size_t begin = windows_ ? windows_->begin(unit, 1) : samples_of(unit).begin;
    sequences[unit] =
        std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(begin)) - offsets.begin() - 1;
  }
  return sequences;
}

std::vector<std::uint32_t> PartitionUnits::groups(std::string_view by) const {
  if (dataset_ == nullptr) throw core::ConfigError(core::format("the samples of {} belong to no groups", what_));
  if (by == "label") return numbered(labels());
  if (by == "client") return numbered(clients());
  const DatasetInfo& info = dataset_->info();
  if (by == "document") {
    if (!windows_ || info.sequences[0] == 0)
      throw core::ConfigError(core::format("the training set of {} does not consist of documents", what_));
    require_order();
    return numbered(sequences());
  }
  const std::vector<std::string_view> speakers = dataset_->speakers(Subset::train);
  if (speakers.empty()) throw core::ConfigError(core::format("{} does not name the speakers of its utterances", what_));
  std::vector<std::string_view> names;
  for (const std::int64_t sequence : sequences()) names.push_back(speakers[static_cast<std::size_t>(sequence)]);
  return numbered(names);
}

void PartitionUnits::require_order() const {
  if (windows_ && windows_->order() == Windows::Order::random)
    throw core::ConfigError(
        "windows at random places have no order in the text, by which they could be divided: give `windows` disjoint");
}

std::size_t class_of(const Dataset& dataset, std::size_t sample) {
  const std::int32_t label = dataset.label(Subset::train, sample);
  if (label < 0 || static_cast<std::size_t>(label) >= dataset.info().classes)
    throw core::ConfigError(core::format("data file '{}': the label {} in row {} of train is outside the {} classes",
                                         dataset.info().path, label, sample, dataset.info().classes));
  return static_cast<std::size_t>(label);
}

std::vector<std::uint64_t> cut_at_ends(const std::vector<std::uint64_t>& ends, std::size_t parts) {
  std::vector<std::uint64_t> starts{0};
  std::size_t at = 0;
  for (std::size_t k = 1; k < parts; ++k) {
    const std::uint64_t wanted = core::part_of(ends.back(), parts, k).begin;
    const std::size_t least = at + 1, most = ends.size() - 1 - (parts - k);
    const auto first = ends.begin() + static_cast<std::ptrdiff_t>(least),
               last = ends.begin() + static_cast<std::ptrdiff_t>(most);
    at = static_cast<std::size_t>(std::lower_bound(first, last, wanted) - ends.begin());
    if (at > least && ends[at] > wanted && wanted - ends[at - 1] <= ends[at] - wanted) --at;
    starts.push_back(ends[at]);
  }
  starts.push_back(ends.back());
  return starts;
}

}  // namespace paragrad::data
