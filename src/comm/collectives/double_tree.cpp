#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/collectives/binary_tree.hpp"
#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {

Tree binary_tree(int rank, int size) {
  Tree tree;
  const int bit = rank == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size))) : rank & -rank;
  if (rank != 0) {
    const int up = (rank - bit) | (bit << 1);  // as if the next power of two were there
    tree.parent = up < size ? up : rank - bit;
    if (bit > 1) tree.children.push_back(rank - bit / 2);
  }
  int below = bit / 2;
  while (below > 0 && rank + below >= size) below /= 2;
  if (below > 0) tree.children.push_back(rank + below);
  return tree;
}

int second_root(int size) { return size % 2 == 0 ? size - 1 : std::min(1, size - 1); }

std::array<Tree, 2> complementary_trees(int rank, int size) {
  const auto relabelled = [&](int r) { return size % 2 == 0 ? size - 1 - r : (r + size - 1) % size; };
  const auto original = [&](int r) { return size % 2 == 0 ? size - 1 - r : (r + 1) % size; };
  Tree second = binary_tree(relabelled(rank), size);
  if (second.parent != no_worker) second.parent = original(second.parent);
  for (int& child : second.children) child = original(child);
  return {binary_tree(rank, size), second};
}

Segmentation double_tree_segments(std::size_t floats, int size, const Segmentation& at_most) {
  const std::size_t least = std::min<std::size_t>(8192, at_most.segment_floats);  // 32 kB
  const auto depth = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(size - 1)));
  return {std::clamp(floats / std::max<std::size_t>(4 * depth, 1) + 1, least, at_most.segment_floats), at_most.in_flight};
}

namespace {

/// Two complementary binary trees (Sanders, Speck and Traff, Parallel Computing 35, 2009; NCCL 2.4), each of which reduces
/// half of the array to its root and broadcasts it. An inner worker of one tree is a leaf of the other, so both directions
/// of all links are in use: as many bytes as the ring, in a number of steps that grows with log2 n.
///
/// Steps     2 ceil(log2 n). The halves are sent in segments of 32 kB or more, so that all levels work at the same time.
/// Bytes     an inner worker sends and receives 2 data.size_bytes(), others less.
/// Order     at every worker and half: its own value, then the sums of its left and right subtrees, in that tree's order of
///           ranks.
class DoubleTreeAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override {
    if (comm.size() == 1) return {0, length};
    if (comm.rank() == 0) return core::part_of(length, 2, 0);
    return comm.rank() == second_root(comm.size()) ? core::part_of(length, 2, 1) : core::Range{};
  }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    add_up(comm, strands(comm, data), segments(comm, data));
  }

  void do_all_gather(Communicator& comm, std::span<float> data) const override {
    spread_down(comm, strands(comm, data), segments(comm, data));
  }

  static Segmentation segments(const Communicator& comm, std::span<float> data) {
    return double_tree_segments((data.size() + 1) / 2, comm.size(), comm.segmentation());
  }

  static std::array<Strand, 2> strands(const Communicator& comm, std::span<float> data) {
    auto trees = complementary_trees(comm.rank(), comm.size());
    return {Strand{std::move(trees[0]), core::part_of(data.size(), 2, 0).of(data)},
            Strand{std::move(trees[1]), core::part_of(data.size(), 2, 1).of(data), second_collective_tag}};
  }
};

Cost double_tree_cost(Operation, const CostModel& model) {
  const int depth = log2_ceil(model.workers), per_node = model.where.workers_per_node;
  const bool one_link = per_node > 1 && model.where.links_per_node == 1;
  const double half = model.bytes / 2;
  const auto floats = static_cast<std::size_t>(std::ceil(half / sizeof(float)));
  const std::size_t longest = double_tree_segments(floats, model.workers, model.where.segmentation).segment_floats;
  const double segment = std::min(half, static_cast<double>(sizeof(float) * longest));
  const double others = half / segment - 1;
  // An inner worker receives two segments, one of each child, in the time of two; only the root has a single child.
  double fill_s = 0, turn_s = 0;
  for (int level = 0; level < depth; ++level) {
    const Wire& link = model.wire(1 << level);
    // Two inner workers of a node may communicate with other nodes, one of them with both its children.
    const int shared = one_link && 1 << level >= per_node ? 3 : 2;
    fill_s += link.latency_s + (level + 1 < depth ? shared : 1) * each_s(link, segment);
    turn_s = std::max(turn_s, (depth > 1 ? shared : 1) * each_s(link, segment));
  }
  const double halves = std::min(model.workers, 4);  // up in both trees, down to two children in one
  return {2 * depth,
          4 * count(model.workers - 1),
          whole(halves * half),
          2 * (fill_s + others * turn_s),
          whole(std::min(model.workers - 1, 2) * half),
          2,
          2};
}

}  // namespace

Entry double_tree_entry() {
  return {.info = {.name = "double_tree",
                   .summary = "two complementary binary trees, each for half of the array",
                   .source = "Sanders et al., ParCo 2009",
                   .formula = "allreduce: 2*(ceil2*L + (2*ceil2 - 1)*n/2/B)"},
          .allreduce = make_plain<DoubleTreeAllreduce>,
          .cost = double_tree_cost};
}

}  // namespace paragrad::comm::collectives
