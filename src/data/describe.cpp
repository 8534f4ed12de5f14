#include "data/describe.hpp"

#include "data/partition.hpp"

namespace paragrad::data {

core::Json describe(const Dataset& dataset) {
  const auto& info = dataset.info();
  core::Json json;
  json["path"] = info.path;
  json["name"] = info.name;
  json["source"] = info.source;
  json["licence"] = info.licence;
  json["source_sha256"] = info.source_sha256;
  json["content_sha256"] = info.content_sha256;
  json["features"] = info.feature_type == FeatureType::uint8 ? "uint8" : "float32";
  json["feature_scale"] = info.feature_scale;
  json["feature_offset"] = info.feature_offset;
  json["dim"] = info.dim;
  json["classes"] = info.classes;
  for (std::size_t i = 0; i < subset_names.size(); ++i) {
    auto& subset = json[std::string(subset_names[i])];
    subset["samples"] = info.samples[i];
    if (info.sequences[i] > 0) subset["sequences"] = info.sequences[i];
  }
  json["partitions"] = core::Json::array();
  for (const auto& partition : stored_partitions(dataset)) json["partitions"].push_back(partition.group);
  return json;
}

}  // namespace paragrad::data
