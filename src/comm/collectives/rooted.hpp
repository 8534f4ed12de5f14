#pragma once

#include <span>
#include <vector>

#include "comm/collectives/segments.hpp"
#include "comm/communicator.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

inline constexpr int no_worker = -1;

/// One worker's place in a rooted tree of all workers.
struct Tree {
  int parent = no_worker;
  std::vector<int> children;  ///< in the order in which their sums are added
};

/// Of root 0: worker r hangs below r minus its lowest set bit: depth floor(log2 n), and the workers below any r, with r, are
/// the contiguous ranks r … r + binomial_size(r, n) - 1.
Tree binomial_tree(int rank, int size);
int binomial_size(int rank, int size);

/// Of root 0: all others are its children.
Tree star(int rank, int size);

/// A tree and the part of the array that travels in it. Trees that are used together differ in their tags.
struct Strand {
  Tree tree;
  std::span<float> data;
  int tag = allreduce_tag;
};

/// Towards the roots: data += what the children bring, child by child in their order, then on to the parent. Cut into
/// segments, so that the levels of a tree work at the same time; several trees take turns, segment by segment.
void add_up(Communicator& comm, std::span<const Strand> strands, std::size_t floats_of_segment = segment_floats);
void add_up(Communicator& comm, const Tree& tree, std::span<float> data);

/// From the roots: data of the parent to the children, likewise.
void spread_down(Communicator& comm, std::span<const Strand> strands, std::size_t floats_of_segment = segment_floats);
void spread_down(Communicator& comm, const Tree& tree, std::span<float> data);

}  // namespace paragrad::comm::collectives
