#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/worker.hpp"
#include "data/sample_stream.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// A message, from its start to its arrival.
struct Transfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
};

struct SimulationOptions {
  int host_threads = 1;          ///< maximum threads for the workers' arithmetic; affects speed only
  std::string device = "cpu";    ///< backend device of every worker
  std::string network = "fifo";  ///< entry of sim/network/catalogue.def
  std::string io = "none";       ///< when samples are read from the platform's file system, see Io
  std::uint64_t row_bytes = 0;   ///< read for each row of samples
  bool oversubscribe = false;    ///< allows several workers to share a device
  double compute_scale = 1;      ///< factor on the platform's times for Worker::compute
  int workers_per_node = 0;      ///< reported by the communicators; 0: as on the platform

  /// Asked with the simulated time before each event; true ends the simulation there, as if the power had failed.
  std::function<bool(double)> stop_when = nullptr;

  std::function<void(const Transfer&)> on_transfer = nullptr;  ///< called for every message, in the same order in every run

  /// In timing mode, compute a collective of all workers at once if that gives the same times.
  bool shortcuts = true;

  /// Stack of each worker. Arithmetic of a computing device does not run on it.
  std::size_t stack_bytes = 256 * 1024;

  /// Seed of the order in which the workers are created, which must not affect anything. 0: by rank.
  std::uint64_t start_order = 0;
};

struct Report {
  bool stopped = false;   ///< by SimulationOptions::stop_when
  double makespan_s = 0;  ///< simulated time at which the last worker ended, or the simulation was stopped
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;      ///< processed by the simulator
  std::uint64_t shortcuts = 0;   ///< collectives computed at once
  std::uint64_t left_out = 0;    ///< pieces of them skipped as repetitions
  std::size_t host_threads = 1;  ///< actually started: fewer than requested if the host allows no more
  std::string busiest_link;      ///< "NIC 0 of node 3, out"; empty if nothing was sent
  double busiest_share = 0;      ///< the part of the makespan for which it was in use
};

/// A worker of the simulated cluster.
class EmulatedWorker : public comm::Worker {
 public:
  using Worker::Worker;

  /// Adds the simulated time of reading `samples` from the platform's file system, as the simulation's options say.
  virtual std::unique_ptr<data::SampleStream> read_from_storage(std::unique_ptr<data::SampleStream> samples) = 0;

  /// Does nothing for that time.
  virtual void pass(double seconds) = 0;
};

/// Runs body(worker) for `workers` emulated workers on a platform, each with its own device and communicator.
/// Results and simulated times depend on the arguments only.
/// Rethrows the first failing worker's exception. Throws ConfigError if the platform has fewer devices than workers and
/// sharing is not allowed; Deadlock; or, if the deadlock follows a death on the platform, comm::Failure that names what
/// died. If a worker other than 0 died and all others finish without it, the run succeeds.
Report run(const Platform& platform, int workers, const SimulationOptions& options,
           const std::function<void(EmulatedWorker&)>& body);

/// Seconds that the platform's device takes for `work`.
double compute_time_s(const Platform& platform, const backend::WorkMeter& work);

/// Runs on free_platform(workers), for tests of results rather than times.
Report run(int workers, const std::function<void(EmulatedWorker&)>& body);

}  // namespace paragrad::sim
