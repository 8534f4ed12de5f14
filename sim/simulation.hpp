#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/worker.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// A message on its way, from its start to its arrival.
struct Transfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
};

struct SimulationOptions {
  int host_threads = 1;          ///< that run the arithmetic of the workers, at most; nothing but speed depends on it
  std::string device = "cpu";    ///< backend device of every worker
  std::string network = "fifo";  ///< entry of sim/network/catalogue.def
  bool oversubscribe = false;    ///< more workers than devices may share them
  double compute_scale = 1;      ///< Worker::compute takes so many times what the platform's device would take
  int workers_per_node = 0;      ///< that the communicators report; 0: as on the platform

  std::function<void(const Transfer&)> on_transfer = nullptr;  ///< is told of every message, in the same order in every run

  /// In timing mode, a collective of all workers may be worked out at once where that gives the same times.
  bool shortcuts = true;

  /// Of each worker. What it computes on a device that computes does not run there.
  std::size_t stack_bytes = 256 * 1024;

  /// Seed of the order in which the workers are made, on which nothing depends. 0: by rank.
  std::uint64_t start_order = 0;
};

struct Report {
  double makespan_s = 0;  ///< simulated time at which the last worker ended
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;      ///< of the simulator
  std::uint64_t shortcuts = 0;   ///< collectives that were worked out at once
  std::uint64_t left_out = 0;    ///< stretches of them that were found to repeat what went before
  std::size_t host_threads = 1;  ///< that there were: fewer than asked for where the host gives no more
};

/// Runs body(worker) for `workers` emulated workers on a platform, each with a device and a communicator of its own.
/// What the workers compute, and the simulated times, depend on the arguments alone.
/// Rethrows what the first failing worker threw. Throws ConfigError if the platform has fewer devices than workers and they
/// must not share; Deadlock; comm::Failure if it comes to that after something died on the platform, which it names. Where a
/// worker other than 0 died and all others come to their end without it, so does the run.
Report run(const Platform& platform, int workers, const SimulationOptions& options,
           const std::function<void(comm::Worker&)>& body);

/// Seconds that the platform's device takes for `work`.
double compute_time_s(const Platform& platform, const backend::WorkMeter& work);

/// On free_platform(workers): for tests of what is computed.
Report run(int workers, const std::function<void(comm::Worker&)>& body);

}  // namespace paragrad::sim
