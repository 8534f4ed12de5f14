#pragma once

#include <functional>
#include <string>

#include "comm/worker.hpp"
#include "hosting/placement.hpp"

namespace paragrad::hosting {

struct HostingOptions {
  int threads = 1;             ///< maximum, for the workers' arithmetic; affects speed only
  std::string device = "cpu";  ///< backend device of every worker
  int workers_per_node = 0;    ///< reported by the communicators; 0: all, or as many as those of a node's processes

  /// The processes that share the workers (see Placement); nullptr: this one has them all. Collective among them, and the
  /// communicator must be used for nothing else meanwhile.
  comm::Communicator* processes = nullptr;
  double stall_s = 300;  ///< with several processes: run() throws Failure when nothing has happened for so long
};

/// Runs body(worker) for `workers` workers, at the same time, each with its own device and communicator, in real time: those
/// of a process take the arithmetic of its cores in turns.
///
/// All workers end in the same bits as MPI ranks, or emulated workers, that run the same synchronous program, however many
/// processes share them. Rethrows the first failing worker's exception, only in its process: the others must be ended from
/// outside. Throws ConfigError if there is no memory for the workers' stacks.
void run(int workers, const HostingOptions& options, const std::function<void(comm::Worker&)>& body);

}  // namespace paragrad::hosting
