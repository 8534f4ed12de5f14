#include "data/verify.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/content_hash.hpp"
#include "data/dataset.hpp"
#include "data/partitioning.hpp"

namespace paragrad::data {
namespace {

/// A name with its line feed, as stored.
std::span<const std::byte> as_line(std::string_view name) {
  return std::as_bytes(std::span<const char>(name.data(), name.size() + 1));
}

/// Adds one subset to the hash and checks each feature, label and value of a column.
void verify_subset(const Dataset& dataset, Subset subset, ContentHash& hash, std::vector<std::string>& findings) {
  const auto index = static_cast<std::size_t>(subset);
  const auto& info = dataset.info();
  std::size_t bad_labels = 0, bad_rows = 0, first_label = 0, first_row = 0;
  std::vector<float> features(info.frame_dim());
  for (std::size_t row = 0; row < info.samples[index]; ++row) {
    const auto stored = dataset.row(subset, row);
    hash.add_features(subset, stored);
    if (info.vocabulary) {
      const auto token = static_cast<std::size_t>(core::token_at(info.encoding.type, stored.data()));
      if (token >= info.classes && bad_labels++ == 0) first_label = row;
      continue;
    }
    dataset.decode(stored, features);
    if (!std::ranges::all_of(features, is_finite) && bad_rows++ == 0) first_row = row;
    if (!info.has_labels()) continue;
    const std::int32_t label = dataset.label(subset, row);
    hash.add_labels(subset, std::span(&label, 1));
    if ((label < 0 || static_cast<std::size_t>(label) >= info.classes) && bad_labels++ == 0) first_label = row;
  }
  hash.add_offsets(subset, dataset.offsets(subset));
  for (const auto name : dataset.utterances(subset)) hash.add_utterances(subset, as_line(name));
  for (const auto name : dataset.speakers(subset)) hash.add_speakers(subset, as_line(name));
  const char* const what = info.vocabulary ? "tokens" : "labels";
  if (bad_labels > 0)
    findings.push_back(core::format(
        "/{}/{}: {} of {} {} are out of range for {}, the first in row {}", subset_names[index], what, bad_labels,
        info.samples[index], what,
        info.vocabulary ? core::format("a vocabulary of {}", info.classes) : core::format("{} classes", info.classes),
        first_label));
  if (bad_rows > 0)
    findings.push_back(core::format("/{}/features: {} of {} rows contain numbers that are not finite, the first is row {}",
                                    subset_names[index], bad_rows, info.samples[index], first_row));
  const ColumnViews columns = dataset.columns(subset);
  hash.add_columns(subset, columns);
  const auto verify_column = [&]<class T>(const ColumnInfo<T>& column, std::span<const T> values, std::size_t width) {
    const auto valid = [&](T value) { return column.is_valid(value); };
    const auto first = static_cast<std::size_t>(std::ranges::find_if_not(values, valid) - values.begin());
    if (const auto bad = std::ssize(values) - std::ranges::count_if(values, valid); bad > 0)
      findings.push_back(core::format("/{}/{}: {} of {} values are invalid: each must be {}; the first is in row {}",
                                      subset_names[index], column.name, bad, values.size(), column.what, first / width));
  };
  for_columns(verify_column, columns, info.widths);
}

}  // namespace

std::vector<std::string> verify(const std::string& path) {
  const auto dataset = Dataset::open(path);
  const auto& info = dataset->info();
  std::vector<std::string> findings;
  ContentHash hash;
  for (const auto subset : {Subset::train, Subset::valid, Subset::test}) verify_subset(*dataset, subset, hash, findings);
  if (const auto digest = hash.finish(info); digest != info.content_sha256)
    findings.push_back(core::format("content_sha256 is {}, but the content hashes to {}", info.content_sha256, digest));
  for (const auto& name : stored_partitions(*dataset)) {
    try {
      if (name.workers == 0 || settled_kind(name.kind) != name.kind ||
          !Partition::find(*dataset, name.workers, name.blocks, name.seed, name.kind))
        findings.push_back(core::format("/partitions/{}: not a valid partition name", name.group));
    } catch (const core::ConfigError& error) {
      findings.push_back(error.what());
    }
  }
  return findings;
}

}  // namespace paragrad::data
