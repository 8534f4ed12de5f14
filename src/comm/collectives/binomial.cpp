#include <memory>
#include <ranges>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/rooted.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {
namespace {

void binomial_broadcast(Communicator& comm, std::span<float> array) {
  if (array.empty()) return;
  const Tree tree = binomial_tree(comm.rank(), comm.size());
  if (tree.parent != no_worker) comm.receive(tree.parent, collective_tag, array);
  for (const int child : tree.children | std::views::reverse)  // largest subtree first
    comm.send(child, collective_tag, std::span<const float>(array));
}

/// The textbook binomial tree to worker 0 and back, with the whole array in each step and no overlap: `tree` without
/// segments, as in much early software for model averaging.
///
/// Steps     floor(log2 n) up, each with an addition, and as many down.
/// Bytes     worker 0 receives and sends ceil(log2 n) * data.size_bytes(), a leaf data.size_bytes().
/// Order     as for `tree`: a worker adds its children in ascending order.
class BinomialAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override { return {0, comm.rank() == 0 ? length : 0}; }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    if (data.empty()) return;
    const Tree tree = binomial_tree(comm.rank(), comm.size());
    const auto incoming = comm.scratch(tree.children.empty() ? 0 : data.size());
    for (const int child : tree.children) {
      comm.receive(child, collective_tag, incoming);
      comm.add(incoming, data);
    }
    if (tree.parent != no_worker) comm.send(tree.parent, collective_tag, std::span<const float>(data));
  }

  void do_all_gather(Communicator& comm, std::span<float> data) const override { binomial_broadcast(comm, data); }
};

Cost whole_array_tree_cost(Operation operation, const CostModel& model) {
  const Cost cost = binomial_cost(model, model.bytes);
  return operation == Operation::broadcast ? way_back(cost) : cost;
}

}  // namespace

Entry binomial_entry() {
  return {
      .info = {.name = "binomial",
               .summary = "binomial tree without segments: the whole array in every step, as in MPICH's reduce and bcast",
               .source = "Thakur et al., IJHPCA 2005",
               .formula = "allreduce: 2*(floor2*(L + n/B) + F*n/B)\n"
                          "broadcast: floor2*(L + n/B) + F*n/B"},
      .allreduce = make_plain<BinomialAllreduce>,
      .broadcast = binomial_broadcast,
      .cost = whole_array_tree_cost};
}

}  // namespace paragrad::comm::collectives
