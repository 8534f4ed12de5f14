#pragma once

#include <functional>
#include <string>

#include "comm/worker.hpp"

namespace paragrad::hosting {

struct HostingOptions {
  int threads = 1;             ///< maximum, for the workers' arithmetic; affects speed only
  std::string device = "cpu";  ///< backend device of every worker
  int workers_per_node = 0;    ///< reported by the communicators; 0: all
};

/// Runs body(worker) for `workers` workers in this process, at the same time, each with its own device and communicator, in
/// real time: they take the arithmetic of this machine's cores in turns.
///
/// All workers end in the same bits as MPI ranks, or emulated workers, that run the same synchronous program.
/// Rethrows the first failing worker's exception. Throws ConfigError if there is no memory for the workers' stacks.
void run(int workers, const HostingOptions& options, const std::function<void(comm::Worker&)>& body);

}  // namespace paragrad::hosting
