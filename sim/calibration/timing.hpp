#pragma once

#include <algorithm>
#include <vector>

#include "comm/allreduce.hpp"

namespace paragrad::sim::calibration {

/// Time of one call at this worker: the mean over at least `least_s`, after one call that warms up caches, pages and branch
/// predictors. calls(n) makes n calls and waits for the last. All workers start together and make the same number of calls,
/// that of the slowest worker.
template <class Calls>
double mean_call_s(comm::Communicator& comm, double least_s, const Calls& calls) {
  double first_s = comm.now_s();
  calls(1);
  first_s = comm.now_s() - first_s;
  std::vector<double> of_all(static_cast<std::size_t>(comm.size()));
  of_all[static_cast<std::size_t>(comm.rank())] = first_s;
  comm::sum_in_rank_order(comm, of_all);
  const double slowest_s = *std::ranges::max_element(of_all);
  const int count = static_cast<int>(std::clamp(least_s / std::max(slowest_s, 1e-9), 1., 1e6) + 0.5);
  comm::barrier(comm);
  const double begin_s = comm.now_s();
  calls(count);
  return (comm.now_s() - begin_s) / count;
}

}  // namespace paragrad::sim::calibration
