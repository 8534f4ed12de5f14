#include <algorithm>

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
using TreeAllreduce = RootedAllreduce<binomial_tree>;

Cost tree_cost(Operation operation, const CostModel& model) {
  const Segmentation& cut = model.where.segmentation;
  const double segment = std::min(model.bytes, static_cast<double>(cut.segment_floats * sizeof(float)));
  double turn_s = 0;  // the root's link carries a segment of every child before the next one
  for (int level = 0; level < log2_ceil(model.workers); ++level) {
    const Wire& link = model.wire(1 << level);
    turn_s += std::max(each_s(link, segment), message_s(link, segment) / static_cast<double>(cut.in_flight));
  }
  Cost cost = binomial_cost(model, segment);
  cost.time_s += 2 * (model.bytes / segment - 1) * turn_s;
  return operation == Operation::broadcast ? way_back(cost) : cost;
}

}  // namespace

Entry tree_entry() {
  return {.info = {.name = "tree",
                   .summary = "segmented binomial tree with worker 0 as its root",
                   .source = "Thakur et al., IJHPCA 2005",
                   .formula = "allreduce: 2*(floor2*(L + n/B) + F*n/B)\n"
                              "broadcast: floor2*(L + n/B) + F*n/B"},
          .allreduce = make_plain<TreeAllreduce>,
          .broadcast = tree_broadcast,
          .cost = tree_cost};
}

}  // namespace paragrad::comm::collectives
