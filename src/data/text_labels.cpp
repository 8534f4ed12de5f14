#include "data/text_labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {

std::optional<std::int32_t> TextLabels::add(const std::string& text, std::size_t line, std::optional<double> value) {
  auto found = found_.find(text);
  if (found == found_.end() && closed_ && value && all_numbers())  // 1 and 1.0 are one class
    found = std::ranges::find_if(found_, [&](const auto& one) { return one.second.value == value; });
  if (found == found_.end() && closed_) return std::nullopt;
  if (found == found_.end())
    found = found_.try_emplace(text, Label{static_cast<std::int32_t>(found_.size()), line, value}).first;
  ++found->second.count;
  ++records_;
  return found->second.number;
}

const std::string* TextLabels::unlike_others() const {
  const auto first = std::ranges::find_if(found_, [](const auto& one) { return one.second.number == 0; });
  if (records_ < 2 || first->second.count > 1) return nullptr;
  const auto numbers = std::ranges::count_if(found_, [](const auto& one) { return one.second.value.has_value(); });
  return numbers == (first->second.value ? 1 : numbers) ? &first->first : nullptr;
}

void TextLabels::to_classes(const std::string& path, DatasetInfo& info, ImportedSubsets& subsets) const {
  check(path);
  const std::vector<std::int32_t> class_of = class_of_each(info);
  for (ImportedSamples& set : subsets)
    for (std::int32_t& label : set.labels) label = class_of[static_cast<std::size_t>(label)];
}

std::vector<std::int32_t> TextLabels::class_of_each(DatasetInfo& info) const {
  std::vector<std::int32_t> class_of(found_.size());
  if (std::ranges::all_of(found_, [](const auto& one) { return is_class(one.second.value); })) {
    for (const auto& [text, label] : found_)
      class_of[static_cast<std::size_t>(label.number)] = static_cast<std::int32_t>(*label.value);
    info.classes = static_cast<std::size_t>(std::ranges::max(class_of)) + 1;
    return class_of;
  }
  std::vector<std::pair<std::string, Label>> sorted(found_.begin(), found_.end());
  if (all_numbers()) std::ranges::stable_sort(sorted, {}, [](const auto& one) { return *one.second.value; });
  for (const auto& [text, label] : sorted) {
    class_of[static_cast<std::size_t>(label.number)] = static_cast<std::int32_t>(info.class_names.size());
    info.class_names.push_back(text);
  }
  info.classes = sorted.size();
  return class_of;
}

std::vector<std::string> TextLabels::texts() const {
  std::vector<std::string> result;
  for (const auto& [text, _] : found_) result.push_back(text);
  return result;
}

bool TextLabels::is_class(const std::optional<double>& value) {
  return value && *value >= 0 && *value < std::numeric_limits<std::int32_t>::max() && std::floor(*value) == *value;
}

bool TextLabels::all_numbers() const {
  return std::ranges::all_of(found_, [](const auto& one) { return one.second.value.has_value(); });
}

void TextLabels::check(const std::string& path) const {
  if (!all_numbers()) return;
  constexpr const char* instead =
      "choose the column of the classes with `label`, or name the columns of real-valued `targets`";
  for (const auto& [text, label] : found_) {
    const std::string where = core::format("the label '{}' in line {} of '{}'", text, label.line, path);
    if (std::floor(*label.value) != *label.value)
      throw core::ConfigError(core::format("{} is a number with decimals, not a class: {}", where, instead));
    if (std::abs(*label.value) >= most_classes)
      throw core::ConfigError(
          core::format("{} is no class, of which a network can have {}: {}", where, most_classes, instead));
  }
}

}  // namespace paragrad::data
