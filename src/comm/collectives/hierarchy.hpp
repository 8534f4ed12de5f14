#pragma once

#include <string>
#include <string_view>

namespace paragrad::comm::collectives {

/// Workers that the hierarchical allreduce takes together: a node's, or where nodes do not divide `workers` the largest part
/// of a node that does. Throws ConfigError if workers_per_node is 0 (the workers lie on nodes in another order).
int workers_of_group(int workers, int workers_per_node);

/// "tree+ring": the algorithm inside a node and the one between nodes; "": ring and ring. Throws ConfigError.
struct Hierarchy {
  std::string inner;
  std::string outer;
};
Hierarchy parse_hierarchy(std::string_view parameters);

}  // namespace paragrad::comm::collectives
