#include <memory>
#include <ranges>

#include "comm/allreduce.hpp"
#include "comm/collectives/rooted.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {
namespace {

/// The textbook binomial tree to worker 0 and back, with the whole array in each step and no overlap: `tree` without
/// segments, as in much early software for model averaging.
///
/// Steps     floor(log2 n) up, each with an addition, and as many down.
/// Bytes     worker 0 receives and sends ceil(log2 n) * data.size_bytes(), a leaf data.size_bytes().
/// Order     as for `tree`: a worker adds its children in ascending order.
class BinomialAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override { return {0, comm.rank() == 0 ? length : 0}; }

  void reduce_scatter(Communicator& comm, std::span<float> data) const override {
    if (data.empty()) return;
    const Tree tree = binomial_tree(comm.rank(), comm.size());
    const auto incoming = comm.scratch(tree.children.empty() ? 0 : data.size());
    for (const int child : tree.children) {
      comm.receive(child, allreduce_tag, incoming);
      comm.add(incoming, data);
    }
    if (tree.parent != no_worker) comm.send(tree.parent, allreduce_tag, std::span<const float>(data));
  }

  void all_gather(Communicator& comm, std::span<float> data) const override {
    if (data.empty()) return;
    const Tree tree = binomial_tree(comm.rank(), comm.size());
    if (tree.parent != no_worker) comm.receive(tree.parent, allreduce_tag, data);
    for (const int child : tree.children | std::views::reverse)  // largest subtree first
      comm.send(child, allreduce_tag, std::span<const float>(data));
  }
};

}  // namespace

std::unique_ptr<Allreduce> make_binomial() { return std::make_unique<BinomialAllreduce>(); }

}  // namespace paragrad::comm::collectives
