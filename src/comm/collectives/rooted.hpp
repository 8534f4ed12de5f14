#pragma once

#include <span>
#include <vector>

#include "comm/allreduce.hpp"
#include "comm/segmentation.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

inline constexpr int no_worker = -1;

/// One worker's neighbours in a rooted tree of all workers.
struct Tree {
  int parent = no_worker;
  std::vector<int> children;  ///< in the order in which their sums are added
};

/// Root 0; the parent of worker r is r minus its lowest set bit. Depth floor(log2 n); the subtree of r is the contiguous
/// ranks r … r + binomial_size(r, n) - 1.
Tree binomial_tree(int rank, int size);
int binomial_size(int rank, int size);

/// Root 0; all others are its children.
Tree star(int rank, int size);

/// A tree and the part of the array that is summed along it. Trees used at the same time have different tags.
struct Strand {
  Tree tree;
  std::span<float> data;
  int tag = collective_tag;
};

/// Reduces towards the roots: adds the children's data in the order of the children, then sends the sum to the parent. Cut
/// into segments, so that the levels of a tree work at the same time; several trees alternate, segment by segment.
///
/// cut: segments no longer than the communicator's.
void add_up(Communicator& comm, std::span<const Strand> strands, const Segmentation& cut);
void add_up(Communicator& comm, const Tree& tree, std::span<float> data);

/// Broadcasts from the roots: from parent to children, likewise.
void spread_down(Communicator& comm, std::span<const Strand> strands, const Segmentation& cut);
void spread_down(Communicator& comm, const Tree& tree, std::span<float> data);

/// Reduces to worker 0, the root of the tree, and broadcasts.
template <Tree (*tree_of)(int rank, int size)>
class RootedAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override { return {0, comm.rank() == 0 ? length : 0}; }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    add_up(comm, tree_of(comm.rank(), comm.size()), data);
  }
  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    spread_down(comm, tree_of(comm.rank(), comm.size()), data);
  }
};

}  // namespace paragrad::comm::collectives
