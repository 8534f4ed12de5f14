#include "data/import_report.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::data {
namespace {

constexpr std::size_t most_names = 10;

std::string range_of(double least, double most) {
  return least == most ? core::format("all {:.6g}", least) : core::format("from {:.6g} to {:.6g}", least, most);
}

/// "features: 3, float32 from -1.5 to 2", "images: 28x28x1, uint8 from 0 to 255, seen as 0 to 1".
std::string features_of(const DatasetInfo& info, const TrainingContent& content) {
  std::string text = info.image ? core::format("images: {} (height x width x channels)", info.image->text())
                                : core::format("features: {}", info.frame_dim());
  text += core::format(", {} {}", core::name_of(info.encoding.type), range_of(content.least, content.most));
  const auto seen = [&](double stored) { return info.encoding.meaning(static_cast<float>(stored)); };
  if (info.encoding.scale != 1 || info.encoding.offset != 0)
    return text + core::format(", which the network sees as {:.6g} to {:.6g}", seen(content.least), seen(content.most));
  return info.encoding.type == core::NumberType::uint8 ? text + ", taken as they are" : text;
}

/// "classes: iris (2), rose (1)", "classes: 0 to 9, of 5421 to 6742 training samples each".
std::string classes_of(const DatasetInfo& info, const TrainingContent& content) {
  const std::vector<std::size_t>& sizes = content.samples_of;
  std::vector<std::string> each;
  if (sizes.size() <= most_names) {
    for (std::size_t c = 0; c < sizes.size(); ++c)
      each.push_back(
          core::format("{} ({})", info.class_names.empty() ? core::format("{}", c) : info.class_names[c], sizes[c]));
    return core::format("classes: {}", core::join(each, ", "));
  }
  const auto [least, most] = std::ranges::minmax(sizes);
  return core::format("classes: {}, of {}{} each",
                      info.class_names.empty() ? core::format("0 to {}", sizes.size() - 1) : some_of(info.class_names),
                      least == most ? "" : core::format("{} to ", least), several(most, "training sample"));
}

void warn_of_classes(Imported& imported, const TrainingContent& content) {
  const std::vector<std::size_t>& sizes = content.samples_of;
  const auto present = sizes.size() - static_cast<std::size_t>(std::ranges::count(sizes, std::size_t{0}));
  if (present == 1)
    imported.warnings.push_back("all training samples have the same label: are these the labels?");
  else if (present > 10 && 2 * present > imported.samples[0])
    imported.warnings.push_back(core::format(
        "the {} training samples have {} different labels: are these numbers of classes?", imported.samples[0], present));
  if (2 * present < sizes.size())
    imported.warnings.push_back(core::format("{} of {} classes have no training sample: are these numbers of classes?",
                                             sizes.size() - present, sizes.size()));
}

}  // namespace

Imported finish_import(DatasetWriter& writer, Imported imported) {
  static_cast<DatasetInfo&>(imported) = writer.finish();
  imported.taken.push_back(features_of(imported, writer.training()));
  if (imported.widths.targets > 0) return imported;
  imported.taken.push_back(classes_of(imported, writer.training()));
  warn_of_classes(imported, writer.training());
  return imported;
}

std::string feature(const Imported& imported, std::size_t index) {
  const std::vector<std::string>& names = imported.names_of_features;
  return names.empty() ? core::format("feature {}", index + 1) : core::format("feature {}", names[index]);
}

void warn_of_rounding(Imported& imported, const RoundedColumns& features, const RoundedColumns& targets,
                      const std::function<std::string(std::size_t)>& target) {
  if (const std::string loss = features.loss([&](std::size_t i) { return feature(imported, i); }); !loss.empty())
    imported.warnings.push_back(
        core::format("float32, in which features are stored, rounds {}: `normalise` subtracts its mean first", loss));
  if (const std::size_t lost = features.whole_numbers_lost(); lost > 0)
    imported.taken.push_back(core::format("rounded: {} that float32 does not have", several(lost, "whole number")));
  if (const std::string loss = targets.loss(target); !loss.empty())
    imported.warnings.push_back(
        core::format("float32, in which targets are stored, rounds {}: subtract its mean before the import", loss));
}

std::string several(std::size_t count, const std::string& what) {
  return core::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= most_names) return core::format("{}", core::join(names, ", "));
  const std::vector<std::string> first(names.begin(), names.begin() + most_names);
  return core::format("{} and {} more", core::join(first, ", "), names.size() - most_names);
}

std::string counted(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::string> each;
  for (const auto& [what, count] : counts) each.push_back(core::format("{} {}", count, what));
  return some_of(each);
}

void check_number_of_classes(std::size_t classes, const std::string& largest, const std::string& instead) {
  if (classes > most_classes)
    throw core::ConfigError(
        core::format("{} would make {} classes, and a network can have {}: {}", largest, classes, most_classes, instead));
}

}  // namespace paragrad::data
