#pragma once

#include <string>
#include <string_view>

#include "core/options.hpp"

namespace paragrad::comm::collectives {

/// Group size of the hierarchical allreduce: the workers of a node or, if that does not divide `workers`, the largest part
/// of a node that does. Throws ConfigError if workers_per_node is 0 (the workers do not fill the nodes in rank order).
int workers_of_group(int workers, int workers_per_node);

/// For algorithms that depend on which workers share a node.
struct NodeOptions {
  void describe(core::OptionList& list) { list.uses("workers-per-node"); }
};

/// "tree+ring": the algorithm inside a node and the one between nodes; "" means ring+ring. Throws ConfigError.
struct Hierarchy {
  std::string inner;
  std::string outer;
};
Hierarchy parse_hierarchy(std::string_view parameters);

}  // namespace paragrad::comm::collectives
