#include "comm/collectives/rooted.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

#include "comm/collectives/receive_add.hpp"
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

namespace {

/// Leaves first, as they wait for no other worker; roots last, as no other worker waits for them.
std::vector<Strand> in_order_of_waiting(std::span<const Strand> strands) {
  std::vector<Strand> sorted(strands.begin(), strands.end());
  const auto patience = [](const Strand& s) { return s.tree.children.empty() ? 0 : s.tree.parent != no_worker ? 1 : 2; };
  std::ranges::stable_sort(sorted, {}, patience);
  return sorted;
}

std::size_t longest(std::span<const Strand> strands) {
  std::size_t length = 0;
  for (const Strand& strand : strands) length = std::max(length, strand.data.size());
  return length;
}

/// For each strand in which this worker is a leaf, the number of segments by which it may run ahead (sending) or behind
/// (receiving) relative to the other strands: nothing here depends on it, so a leaf of one tree can work undisturbed in the
/// other.
std::vector<std::size_t> leaves_apart(std::span<const Strand> strands) {
  constexpr std::size_t far = 64;  // more than any tree has levels
  std::vector<std::size_t> segments;
  for (const Strand& strand : strands) segments.push_back(strands.size() > 1 && strand.tree.children.empty() ? far : 0);
  return segments;
}

/// The messages that a worker receives for one segment of every strand.
struct Incoming {
  const Strand* strand;
  int child;
};

}  // namespace

// No deadlock, whatever the trees: at a worker, segment s of a strand waits for segment s of the strand's children, for
// segments before s, and for segment s of strands that are leaves here, which wait for earlier segments only.
void add_up(Communicator& comm, std::span<const Strand> unordered, const Segmentation& cut) {
  const std::vector<Strand> strands = in_order_of_waiting(unordered);
  std::vector<Incoming> incoming;
  for (const Strand& strand : strands)
    for (const int child : strand.tree.children) incoming.push_back({&strand, child});
  const std::size_t largest = std::min(longest(strands), cut.segment_floats), segments = cut.segments(longest(strands));
  const std::size_t in_flight =
      std::max(comm.segmentation().messages_in_flight(largest), cut.in_flight * std::min<std::size_t>(incoming.size(), 2));
  const auto message = [&](std::size_t k) {
    const Incoming& from = incoming[k % incoming.size()];
    return ReceiveAdd::Message{from.child, cut.segment(from.strand->data, k / incoming.size()), from.strand->tag};
  };
  ReceiveAdd arrivals(comm, segments * incoming.size(), largest, message, in_flight);
  std::vector<Sends> sends(strands.size(), Sends(comm));
  const std::vector<std::size_t> early = leaves_apart(strands);
  const std::size_t most = *std::ranges::max_element(early);
  for (std::size_t round = 0; segments > 0 && round < segments + most; ++round) {
    for (std::size_t i = 0; i < strands.size(); ++i) {
      const std::size_t s = round + early[i] - most;  // wraps before this strand's turn has come
      if (s >= segments) continue;
      for (std::size_t c = 0; c < strands[i].tree.children.size(); ++c) arrivals.add_next();
      if (strands[i].tree.parent == no_worker) continue;
      sends[i].finish_all_but(early[i] + cut.in_flight - 1);
      sends[i].start(strands[i].tree.parent, cut.segment(strands[i].data, s), strands[i].tag);
    }
  }
  for (Sends& strand : sends) strand.finish();
}

void add_up(Communicator& comm, const Tree& tree, std::span<float> data) {
  const Strand strand{.tree = tree, .data = data};
  add_up(comm, {&strand, 1}, comm.segmentation());
}

namespace {

/// The data arriving in one strand, received in place, segment by segment, `ahead` segments in advance.
class Arrivals {
 public:
  Arrivals(Communicator& comm, const Strand& strand, const Segmentation& cut, std::size_t ahead)
      : comm_(comm), strand_(strand), cut_(cut), count_(cut.segments(strand.data.size())), requests_(ahead) {
    while (posted_ < std::min(ahead, count_)) post_next();
  }

  /// Waits for the next segment, if there is one.
  void wait_for_next() {
    if (strand_.tree.parent == no_worker || waited_ == count_) return;
    comm_.wait(requests_[waited_++ % requests_.size()]);
    if (posted_ < count_) post_next();
  }

 private:
  void post_next() {
    if (strand_.tree.parent != no_worker)
      requests_[posted_ % requests_.size()] =
          comm_.start_receive(strand_.tree.parent, strand_.tag, cut_.segment(strand_.data, posted_));
    ++posted_;
  }

  Communicator& comm_;
  const Strand& strand_;
  const Segmentation& cut_;
  std::size_t count_;
  std::vector<Request> requests_;
  std::size_t posted_ = 0;
  std::size_t waited_ = 0;
};

}  // namespace

void spread_down(Communicator& comm, std::span<const Strand> unordered, const Segmentation& cut) {
  std::vector<Strand> strands = in_order_of_waiting(unordered);
  std::ranges::reverse(strands);
  const std::size_t segments = cut.segments(longest(strands));
  const std::vector<std::size_t> late = leaves_apart(strands);
  std::vector<Arrivals> arrivals;
  for (std::size_t i = 0; i < strands.size(); ++i) arrivals.emplace_back(comm, strands[i], cut, cut.in_flight + late[i]);
  std::vector<Sends> sends(strands.size(), Sends(comm));
  const std::size_t rounds = segments == 0 ? 0 : segments + *std::ranges::max_element(late);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < strands.size(); ++i) {
      if (round < late[i] || round - late[i] >= segments) continue;
      arrivals[i].wait_for_next();
      const std::vector<int>& children = strands[i].tree.children;
      for (const int child : children | std::views::reverse)  // largest subtree first
        sends[i].start(child, cut.segment(strands[i].data, round - late[i]), strands[i].tag);
      sends[i].finish_all_but((cut.in_flight - 1) * children.size());
    }
  }
  for (Sends& strand : sends) strand.finish();
}

void spread_down(Communicator& comm, const Tree& tree, std::span<float> data) {
  const Strand strand{.tree = tree, .data = data};
  spread_down(comm, {&strand, 1}, comm.segmentation());
}

}  // namespace paragrad::comm::collectives
