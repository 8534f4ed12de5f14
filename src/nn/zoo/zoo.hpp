#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/options.hpp"
#include "nn/graph.hpp"

namespace paragrad::nn {

/// Published networks, from zoo/catalogue.def.
core::CatalogueInfo zoo_catalogue();

/// name: that of an entry, perhaps with values, as in "resnet:depth=20,classes=100" or "gpt:nano,vocabulary=65". Throws
/// ConfigError.
Graph make_zoo_model(std::string_view name);

/// The network of the zoo that a text without "zoo:" names, such as "ResNet-50"; empty if it names none.
std::string zoo_name_in(std::string_view text);

/// "resnet:depth=56" and side=16, pages=2 give "resnet:depth=56,side=16": the values of options that the network has. Empty
/// if it has none of them.
std::string zoo_model_with(std::string_view name, const std::map<std::string, std::size_t>& values);

namespace zoo {

/// A network of zoo/catalogue.def.
struct ZooEntry {
  core::EntryInfo info;
  std::function<Graph(const core::Settings&)> make;
  std::map<std::string, core::Settings> presets{};  ///< options under one name, which may stand in their place
};

inline ZooEntry network(core::EntryInfo info, Graph (*make)()) {
  return {std::move(info), [make](const core::Settings&) { return make(); }};
}

/// A family of networks: Options are described like any others (core::OptionList).
template <class Options>
ZooEntry network(core::EntryInfo info, Graph (*make)(const Options&)) {
  info.options = core::options_of<Options>();
  ZooEntry entry{std::move(info),
                 [make](const core::Settings& settings) { return make(core::read_options<Options>(settings)); }};
  for (const core::OptionInfo& option : entry.info.options)
    entry.info.parameter +=
        core::format("{}{}={}", entry.info.parameter.empty() ? ":" : ",", option.name, option.by_default);
  return entry;
}

// <name>_entry(), each in <name>.cpp
#define ZOO(name) ZooEntry name##_entry();
#include "nn/zoo/catalogue.def"
#undef ZOO

}  // namespace zoo
}  // namespace paragrad::nn
