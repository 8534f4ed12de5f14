#include <memory>

#include "comm/allreduce.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {
namespace {

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

  void all_gather(Communicator& comm, std::span<float> data) const override {
    spread_down(comm, binomial_tree(comm.rank(), comm.size()), data);
  }
};

}  // namespace

std::unique_ptr<Allreduce> make_tree() { return std::make_unique<TreeAllreduce>(); }

}  // namespace paragrad::comm::collectives
