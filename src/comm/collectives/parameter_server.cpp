#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {
namespace {

/// One server, worker 0, which also contributes (Li et al., OSDI 2014, with one server and synchronous updates): the
/// baseline for the other algorithms.
///
/// Steps     2 (n-1) at the server, one after the other; 2 at the others.
/// Bytes     the server receives and sends (n-1) * data.size_bytes(), every other worker data.size_bytes().
/// Order     rank order: ((x0 + x1) + x2) + …
using ParameterServerAllreduce = RootedAllreduce<star>;

Cost parameter_server_cost(Operation, const CostModel& model) {
  const int others = model.workers - 1;
  const std::uint64_t most = whole(others * model.bytes);
  const double way_s = model.windowed_burst_s(others, model.bytes);
  return {2, 2 * count(others), most, 2 * way_s, most};
}

}  // namespace

Entry parameter_server_entry() {
  return {.info = {.name = "parameter_server",
                   .summary = "worker 0 adds in rank order and sends the sum back",
                   .source = "Li et al., OSDI 2014, one server",
                   .formula = "allreduce: 2*(L + (N-1)*n/B)"},
          .allreduce = make_plain<ParameterServerAllreduce>,
          .cost = parameter_server_cost};
}

}  // namespace paragrad::comm::collectives
