#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "comm/collectives/catalogue.hpp"
#include "core/philox.hpp"
#include "core/sha256.hpp"

namespace paragrad::comm::testing {

/// What worker `rank` brings: magnitudes over six decades, so that another order of additions gives other bits.
inline std::vector<float> contribution(int rank, std::size_t length) {
  const core::RandomStream random(20161001, core::Purpose::generator, rank);
  std::vector<float> values(length);
  for (std::size_t i = 0; i < length; ++i) {
    const auto words = random.words(i);
    values[i] = (static_cast<float>(words[0]) * 0x1p-31f - 1) * std::ldexp(1.f, static_cast<int>(words[1] % 20));
  }
  return values;
}

inline std::string hash_of(std::span<const float> values) { return core::sha256(std::as_bytes(values)); }

/// The algorithms whose order of additions is ours; those with parameters in more than one way.
inline std::vector<std::string> own_algorithms() {
  std::vector<std::string> names{"hierarchical:tree+halving_doubling", "hierarchical:halving_doubling+double_tree",
                                 "hierarchical:butterfly+sharded_parameter_server", "auto:1ns,1MBps"};
  for (const auto& entry : algorithms()) {
    if (entry.allreduce && !entry.library) names.push_back(entry.info.name);
  }
  return names;
}

}  // namespace paragrad::comm::testing
