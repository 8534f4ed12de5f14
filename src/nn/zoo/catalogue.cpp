#include "core/errors.hpp"
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
    if (sign == part.npos)
      throw core::ConfigError(core::format("zoo model '{}': '{}' is not KEY=VALUE; write {}{}", name, part, entry.info.name,
                                           entry.info.parameter));
    settings.insert_or_assign(part.substr(0, sign), part.substr(sign + 1));
  }
  core::check_keys(core::format("zoo model '{}'", entry.info.name), entry.options, settings);
  return settings;
}

}  // namespace

core::CatalogueInfo zoo_catalogue() { return core::info_of("zoo model", "zoo models", zoo_networks()); }

Graph make_zoo_model(std::string_view name) {
  const zoo::ZooEntry& entry = core::find_entry("zoo model", name, zoo_networks());
  if (name == entry.info.name) return entry.make({});
  try {
    return entry.make(parse(entry, name, name.substr(entry.info.name.size() + 1)));
  } catch (const core::OptionError& error) {
    throw core::ConfigError(core::format("zoo model '{}' has a wrong {}: {}", entry.info.name, error.option, error.reason));
  }
}

}  // namespace paragrad::nn
