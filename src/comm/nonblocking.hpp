#pragma once

#include <span>

#include "comm/allreduce.hpp"
#include "comm/worker.hpp"

namespace paragrad::comm {

/// The non-blocking form of every allreduce: the sum is formed beside what this worker computes and says meanwhile (see
/// Worker::launch), with the bits of the blocking call. `data` and `allreduce` belong to it until worker.join() returns,
/// which waits for all that was started. Collective: all workers start the same ones in the same order.
inline void start(Worker& worker, const Allreduce& allreduce, std::span<float> data) {
  worker.launch([&allreduce, data](Communicator& comm) { allreduce(comm, data); });
}

}  // namespace paragrad::comm
