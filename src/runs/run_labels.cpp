#include "runs/run_labels.hpp"

#include <filesystem>
#include <set>
#include <string_view>

#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::runs {
namespace {

/// An option whose name ends like this is computed from another one.
constexpr std::string_view digest_ending = "-sha256";

const std::string* value_in(const RunOptions& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() ? nullptr : &found->second;
}

/// Whether runs differ in this option.
bool is_named(const std::string& name, const std::vector<RunOptions>& runs, const RunOptions& defaults) {
  std::set<std::string> values;
  bool some_lack_it = false;
  for (const RunOptions& run : runs) {
    const std::string* const value = value_in(run, name);
    if (value != nullptr)
      values.insert(*value);
    else
      some_lack_it = true;
  }
  if (values.size() > 1 || !some_lack_it || name.ends_with(digest_ending)) return values.size() > 1;
  const std::string* const by_default = value_in(defaults, name);
  return by_default == nullptr || !values.contains(*by_default);
}

/// Of a file its name. A network's text is shortened.
std::string label_text(const std::string& name, std::string value) {
  constexpr std::size_t most = 40;
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'')) value = value.substr(1, value.size() - 2);
  if (name == "data" || name == "platform") return std::filesystem::path(value).stem().string();
  return value.size() <= most ? value : value.substr(0, most) + "…";
}

}  // namespace

std::vector<std::string> differing_options(const std::vector<RunOptions>& runs, const std::string& default_config) {
  const RunOptions defaults = options_in(default_config);
  std::set<std::string> names;
  for (const RunOptions& run : runs)
    for (const auto& [name, _] : run) names.insert(name);
  const std::set<std::string>& tabled = options_with(core::OptionMark::tabled);
  std::erase_if(names, [&](const std::string& name) { return tabled.contains(name) || !is_named(name, runs, defaults); });
  std::vector<std::string> labels;
  for (const RunOptions& run : runs) {
    std::vector<std::string> texts;
    for (const std::string& name : names)
      if (const std::string* const value = value_in(run, name))
        texts.push_back(core::format("{}={}", name, label_text(name, *value)));
    labels.push_back(core::format("{}", core::join(texts, ", ")));
  }
  return labels;
}

}  // namespace paragrad::runs
