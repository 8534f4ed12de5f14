#include "data/describe.hpp"

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/partitioning.hpp"

namespace paragrad::data {

namespace {

void describe_names(const Dataset& dataset, Subset subset, core::Json& json) {
  if (!dataset.utterances(subset).empty()) json["named_utterances"] = true;
  const auto clients = dataset.columns(subset).clients;
  if (subset == Subset::train && !clients.empty()) json["clients"] = std::set(clients.begin(), clients.end()).size();
  auto speakers = dataset.speakers(subset);
  std::sort(speakers.begin(), speakers.end());
  const auto different = std::unique(speakers.begin(), speakers.end()) - speakers.begin();
  if (different > 0) json["speakers"] = different;
}

core::Json describe(const Dataset& dataset, const PartitionName& name) {
  core::Json json{{"name", name.group}};
  try {
    if (const auto partition = Partition::find(dataset, name.workers, name.blocks, name.seed, name.kind))
      json.update(to_json(name.kind, spread_of(*partition, &dataset)));
  } catch (const core::ConfigError& error) {
    json["error"] = error.what();
  }
  return json;
}

}  // namespace

core::Json describe(const Dataset& dataset) {
  const auto& info = dataset.info();
  core::Json json;
  json["path"] = info.path;
  json["name"] = info.name;
  json["source"] = info.source;
  json["licence"] = info.licence;
  json["source_sha256"] = info.source_sha256;
  json["content_sha256"] = info.content_sha256;
  if (info.vocabulary) {
    json["tokens"] = core::name_of(info.encoding.type);
    json["vocabulary"] = {{"kind", info.vocabulary->kind()}, {"size", info.vocabulary->size()}};
  } else {
    json["features"] = core::name_of(info.encoding.type);
    json["feature_scale"] = info.encoding.scale;
    json["feature_offset"] = info.encoding.offset;
    json["dim"] = info.dim;
  }
  if (info.image)
    json["image"] = {{"height", info.image->height}, {"width", info.image->width}, {"channels", info.image->channels}};
  if (info.has_labels()) json["classes"] = info.classes;
  for_columns(
      [&](const auto& column, std::size_t width) {
        if (width > 0 && column.role != ColumnRole::divides) json[std::string(column.name)] = width;
      },
      info.widths);
  if (!info.class_names.empty()) json["class_names"] = info.class_names;
  if (!info.names_of_features.empty()) json["feature_names"] = info.names_of_features;
  if (info.context != Context{}) json["context"] = {{"left", info.context.left}, {"right", info.context.right}};
  if (info.frame_shift_s > 0) json["frame_shift_s"] = info.frame_shift_s;
  for (std::size_t i = 0; i < subset_names.size(); ++i) {
    auto& subset = json[std::string(subset_names[i])];
    subset["samples"] = info.samples[i];
    if (info.sequences[i] > 0) subset[info.vocabulary ? "documents" : "sequences"] = info.sequences[i];
    if (info.vocabulary) subset["bytes"] = info.text_bytes[i];
    if (info.frame_shift_s > 0) subset["duration_s"] = static_cast<double>(info.samples[i]) * info.frame_shift_s;
    describe_names(dataset, static_cast<Subset>(i), subset);
  }
  json["partitions"] = core::Json::array();
  for (const PartitionName& name : stored_partitions(dataset)) json["partitions"].push_back(describe(dataset, name));
  return json;
}

}  // namespace paragrad::data
