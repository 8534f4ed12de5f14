#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/graph.hpp"

namespace paragrad::nn {

struct ZooEntry {
  std::string name;
  std::string description;
};

/// Published networks, from zoo/catalogue.def. Most use operations that have costs but no kernels yet
/// (Op::computable): they can be timed but not trained.
std::vector<ZooEntry> zoo_catalogue();

/// Throws ConfigError for an unknown name.
Graph make_zoo_model(std::string_view name);

}  // namespace paragrad::nn
