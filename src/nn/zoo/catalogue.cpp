#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/names.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn {
namespace {

const std::vector<zoo::ZooEntry>& zoo_networks() {
  static const std::vector<zoo::ZooEntry> entries{
#define ZOO(name) zoo::name##_entry(),
#include "nn/zoo/catalogue.def"
#undef ZOO
  };
  return entries;
}

/// "depth=20,classes=10"
core::Settings parse(const zoo::ZooEntry& entry, std::string_view name, std::string_view text) {
  core::Settings settings;
  for (const std::string& part : core::list_of(std::string(name), std::string(text))) {
    const std::size_t sign = part.find('=');
    if (const auto preset = entry.presets.find(part); preset != entry.presets.end()) {
      settings.insert(preset->second.begin(), preset->second.end());
      continue;
    }
    if (sign == part.npos)
      throw core::ConfigError(core::format("zoo model '{}': '{}' is not KEY=VALUE; write {}{}", name, part, entry.info.name,
                                           entry.info.parameter));
    settings.insert_or_assign(part.substr(0, sign), part.substr(sign + 1));
  }
  core::check_keys(core::format("zoo model '{}'", entry.info.name), entry.info.options, settings);
  return settings;
}

}  // namespace

core::CatalogueInfo zoo_catalogue() { return core::info_of("zoo model", "zoo models", zoo_networks(), "`model` zoo:{}"); }

std::string zoo_name_in(std::string_view text) {
  const std::string folded = core::folded_name(text.substr(0, text.find(':')));
  for (const zoo::ZooEntry& entry : zoo_networks())
    if (core::folded_name(entry.info.name) == folded) return entry.info.name;
  return "";
}

std::string zoo_model_with(std::string_view name, const std::map<std::string, std::size_t>& values) {
  const zoo::ZooEntry& entry = core::find_entry("zoo model", name, zoo_networks());
  core::Settings settings;
  if (name != entry.info.name) settings = parse(entry, name, name.substr(entry.info.name.size() + 1));
  std::string text = entry.info.name;
  bool has_one = false;
  for (const core::OptionInfo& option : entry.info.options) {
    const auto wanted = values.find(option.name);
    const auto given = settings.find(option.name);
    has_one = has_one || wanted != values.end();
    if (wanted == values.end() && given == settings.end()) continue;
    const std::string value = wanted != values.end() ? core::format("{}", wanted->second) : given->second.text();
    if (value != option.by_default) text += core::format("{}{}={}", text == entry.info.name ? ":" : ",", option.name, value);
  }
  return has_one ? text : "";
}

Graph make_zoo_model(std::string_view name) {
  if (name.starts_with("python:") && zoo_name_in(name).empty())
    throw core::ConfigError(
        core::format("'zoo:{}' is a model in Python, and only the package for Python can use it: train "
                     "and predict there",
                     name));
  const zoo::ZooEntry& entry = core::find_entry("zoo model", name, zoo_networks());
  if (name == entry.info.name) return entry.make({});
  try {
    return entry.make(parse(entry, name, name.substr(entry.info.name.size() + 1)));
  } catch (const core::OptionError& error) {
    throw core::ConfigError(core::format("zoo model '{}' has a wrong {}: {}", entry.info.name, error.option, error.reason));
  }
}

}  // namespace paragrad::nn
