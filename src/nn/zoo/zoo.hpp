#pragma once

#include <functional>
#include <string_view>

#include "core/options.hpp"
#include "nn/graph.hpp"

namespace paragrad::nn {

/// Published networks, from zoo/catalogue.def. Most use operations that have costs but no kernels yet
/// (Op::computable): they can be timed but not trained.
core::CatalogueInfo zoo_catalogue();

/// Throws ConfigError for an unknown name.
Graph make_zoo_model(std::string_view name);

namespace zoo {

/// A network of zoo/catalogue.def.
struct ZooEntry {
  core::EntryInfo info;
  std::function<Graph()> make;
};

// <name>_entry(), each in <name>.cpp
#define ZOO(name) ZooEntry name##_entry();
#include "nn/zoo/catalogue.def"
#undef ZOO

}  // namespace zoo
}  // namespace paragrad::nn
