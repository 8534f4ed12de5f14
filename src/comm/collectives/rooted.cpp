#include "comm/collectives/rooted.hpp"

#include <algorithm>
#include <ranges>

#include "comm/collectives/receive_add.hpp"
#include "comm/collectives/segments.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

int binomial_size(int rank, int size) { return rank == 0 ? size : std::min(rank & -rank, size - rank); }

Tree binomial_tree(int rank, int size) {
  Tree tree;
  if (rank != 0) tree.parent = rank - (rank & -rank);
  const int end = rank + binomial_size(rank, size);
  for (int bit = 1; rank + bit < end; bit *= 2) tree.children.push_back(rank + bit);
  return tree;
}

Tree star(int rank, int size) {
  Tree tree;
  if (rank != 0) {
    tree.parent = 0;
  } else {
    for (int child = 1; child < size; ++child) tree.children.push_back(child);
  }
  return tree;
}

void add_up(Communicator& comm, const Tree& tree, std::span<float> data) {
  const std::size_t segments = segment_count(data.size());
  const std::size_t children = tree.children.size();
  ReceiveAdd arrivals(comm, segments * children, data.size(), [&](std::size_t k) {
    return ReceiveAdd::Message{tree.children[k % children], segment_of(data, k / children)};
  });
  Sends sends(comm);
  for (std::size_t s = 0; s < segments; ++s) {
    for (std::size_t c = 0; c < children; ++c) arrivals.add_next();
    if (tree.parent == no_worker) continue;
    sends.finish_all_but(messages_in_flight - 1);
    sends.start(tree.parent, segment_of(data, s));
  }
  sends.finish();
}

void spread_down(Communicator& comm, const Tree& tree, std::span<float> data) {
  const std::size_t segments = segment_count(data.size());
  const auto start_receive = [&](std::size_t s) {
    if (tree.parent == no_worker || s >= segments) return Request{};
    return comm.start_receive(tree.parent, allreduce_tag, segment_of(data, s));
  };
  Sends sends(comm);
  Request next = start_receive(0);
  for (std::size_t s = 0; s < segments; ++s) {
    const Request current = next;
    next = start_receive(s + 1);
    if (tree.parent != no_worker) comm.wait(current);
    for (const int child : tree.children | std::views::reverse)
      sends.start(child, segment_of(data, s));  // largest subtree first
    sends.finish_all_but(tree.children.size());
  }
  sends.finish();
}

}  // namespace paragrad::comm::collectives
