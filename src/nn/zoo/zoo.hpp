#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/layer.hpp"

namespace paragrad::nn {

struct ZooEntry {
  std::string name;
  std::string description;
};

/// Published networks, from zoo/catalogue.def. Most are tables of layers (TableLayer), which can be timed but not trained.
std::vector<ZooEntry> zoo_catalogue();

/// Throws ConfigError for an unknown name.
Layers make_zoo_model(std::string_view name);

}  // namespace paragrad::nn
