#pragma once

#include "core/options.hpp"

namespace paragrad::comm::collectives {

/// Throws ConfigError if workers_per_node is 0: the workers do not fill the nodes in rank order.
void expect_full_nodes(int workers_per_node);

/// Group size of the hierarchical allreduce: the workers of a node or, if that does not divide `workers`, the largest part
/// of a node that does. Throws what expect_full_nodes() does.
int workers_of_group(int workers, int workers_per_node);

/// The option with the workers of a node, which each command with collectives describes.
inline constexpr const char* option_of_nodes = "workers-per-node";

/// For algorithms that depend on which workers share a node.
struct NodeOptions {
  void describe(core::OptionList& list) { list.uses(option_of_nodes); }
};

}  // namespace paragrad::comm::collectives
