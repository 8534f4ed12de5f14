#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {
namespace {

void tree_broadcast(Communicator& comm, std::span<float> array) {
  spread_down(comm, binomial_tree(comm.rank(), comm.size()), array);
}

/// Binomial tree: reduces to worker 0 and broadcasts (Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005, section 4).
///
/// Steps     2 floor(log2 n), each with the whole array, whose segments are pipelined through the levels.
/// Bytes     a worker with c children sends and receives (c + 1) * data.size_bytes(); worker 0 has ceil(log2 n) children.
/// Order     at every worker: its own value, then the sums of its subtrees r+1, r+2, r+4, … in this order.
class TreeAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator& comm, std::size_t length) const override { return {0, comm.rank() == 0 ? length : 0}; }

  void reduce_scatter(Communicator& comm, std::span<float> data) const override {
    add_up(comm, binomial_tree(comm.rank(), comm.size()), data);
  }

  void all_gather(Communicator& comm, std::span<float> data) const override { tree_broadcast(comm, data); }
};

}  // namespace

Entry tree_entry() {
  return {.info = {.name = "tree",
                   .summary = "segmented binomial tree with worker 0 as its root",
                   .source = "Thakur et al., IJHPCA 2005",
                   .formula = "allreduce: 2*(floor2*(L + n/B) + F*n/B)\n"
                              "broadcast: floor2*(L + n/B) + F*n/B"},
          .allreduce = make_plain<TreeAllreduce>,
          .broadcast = tree_broadcast};
}

}  // namespace paragrad::comm::collectives
