#pragma once

#include <span>

#include "comm/allreduce.hpp"
#include "comm/worker.hpp"

namespace paragrad::comm {

/// The non-blocking form of every allreduce: the sum is computed while this worker computes and communicates (see
/// Worker::launch), with the same bits as the blocking call. `data` and `allreduce` must stay untouched until worker.join()
/// returns, which waits for all started sums. Collective: all workers start the same ones in the same order.
inline void start(Worker& worker, const Allreduce& allreduce, std::span<float> data) {
  worker.launch([&allreduce, data](Communicator& comm) { allreduce(comm, data); });
}

}  // namespace paragrad::comm
