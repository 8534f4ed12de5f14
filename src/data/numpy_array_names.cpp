#include "data/numpy_array_names.hpp"

#include <cstddef>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

std::vector<ArrayKind> array_kinds() {
  std::vector<ArrayKind> kinds{feature_arrays, label_arrays, length_arrays};
  for_extra_columns([&](const auto& column) { kinds.push_back(column_arrays(column.name)); });
  return kinds;
}
constexpr std::array<Subset, 3> all_subsets{Subset::train, Subset::valid, Subset::test};

bool is_usual(const std::string& name) {
  for (const ArrayKind& kind : array_kinds())
    for (const Subset subset : all_subsets)
      if (name == usual_name(kind, subset)) return true;
  return false;
}

}  // namespace

std::string usual_name(const ArrayKind& kind, Subset subset) {
  return core::format("{}_{}", kind.name, subset_names[static_cast<std::size_t>(subset)]);
}

std::vector<std::string> usual_names(const ArrayKind& kind, Subset subset) {
  std::vector<std::string_view> words{subset_names[static_cast<std::size_t>(subset)]};
  if (subset == Subset::valid) words.insert(words.end(), {"val", "validation"});
  std::vector<std::string> names;
  for (const std::string_view word : words) {
    for (const std::string_view name : kind.before)
      if (!name.empty()) names.push_back(core::format("{}_{}", name, word));
    for (const std::string_view name : kind.after)
      if (!name.empty()) names.push_back(core::format("{}_{}", word, name));
  }
  if (subset == Subset::train)
    for (const std::string_view name : kind.before)
      if (!name.empty()) names.emplace_back(name);
  return names;
}

std::vector<std::string> usual_array_names() {
  std::vector<std::string> all;
  for (const ArrayKind& kind : array_kinds())
    for (const Subset subset : all_subsets)
      for (const std::string& name : usual_names(kind, subset)) all.push_back(name);
  return all;
}

ArrayNames::ArrayNames(const std::string& from, const std::vector<std::string>& given, const NumpyFiles& files) {
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string usual = text.substr(0, equals);
    if (equals == std::string::npos || !is_usual(usual) || !names_.emplace(usual, text.substr(equals + 1)).second)
      throw core::ConfigError(core::format(
          "`arrays` contains '{}': give pairs like x_train=NAME, y_test=NAME or lengths_valid=NAME, each once", text));
  }
  for (const ArrayKind& kind : array_kinds())
    for (const Subset subset : all_subsets)
      if (!names_.contains(usual_name(kind, subset))) find(kind, subset, from, files);
}

std::string ArrayNames::of(const ArrayKind& kind, Subset subset) const {
  const auto found = names_.find(usual_name(kind, subset));
  return found == names_.end() ? "" : found->second;
}

std::vector<std::string> ArrayNames::left_out(const NumpyFiles& files) const {
  std::vector<std::string> names = files.names();
  for (const auto& [usual, name] : names_) std::erase(names, name);
  return names;
}

void ArrayNames::find(const ArrayKind& kind, Subset subset, const std::string& from, const NumpyFiles& files) {
  std::vector<std::string> found;
  for (const std::string& name : usual_names(kind, subset))
    if (files.has(name)) found.push_back(name);
  if (found.size() > 1)
    throw core::ConfigError(core::format("'{}' contains both '{}' and '{}': choose one with `arrays` {}={}", from, found[0],
                                         found[1], usual_name(kind, subset), found[0]));
  if (!found.empty()) names_.emplace(usual_name(kind, subset), found[0]);
}

}  // namespace paragrad::data
