#pragma once

#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace paragrad::comm::collectives {

inline constexpr int no_worker = -1;

/// One worker's place in a rooted tree of all workers; the root is worker 0.
struct Tree {
  int parent = no_worker;
  std::vector<int> children;  ///< ascending
};

/// Worker r hangs below r minus its lowest set bit: depth ceil(log2 n), and the workers below any r, with r, are the
/// contiguous ranks r … r + binomial_size(r, n) - 1.
Tree binomial_tree(int rank, int size);
int binomial_size(int rank, int size);

/// All below worker 0.
Tree star(int rank, int size);

/// Towards the root: data += what the children bring, child by child in ascending order, then on to the parent. Segmented,
/// so that the levels of the tree work at the same time.
void add_up(Communicator& comm, const Tree& tree, std::span<float> data);

/// From the root: data of the parent to the children, segmented likewise.
void spread_down(Communicator& comm, const Tree& tree, std::span<float> data);

}  // namespace paragrad::comm::collectives
