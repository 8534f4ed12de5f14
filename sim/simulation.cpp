#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/memory.hpp"
#include "core/philox.hpp"
#include "core/units.hpp"
#include "sim/cluster.hpp"
#include "sim/workers/sim_worker.hpp"

namespace paragrad::sim {

namespace {

void check(const Platform& platform, int workers, const SimulationOptions& options) {
  if (workers < 1) throw core::ConfigError(core::format("{} workers cannot be emulated; give at least 1", workers));
  if (options.host_threads < 1) throw core::ConfigError("`host-threads` must be at least 1");
  if (workers > platform.workers() && !options.oversubscribe)
    throw core::ConfigError(core::format(
        "platform '{}' has {} devices ({} nodes of {}), too few for {} workers: let them share devices (`oversubscribe`), "
        "or give more nodes (`nodes`, or cluster.nodes in {})",
        platform.name, platform.workers(), platform.nodes, platform.devices_per_node, workers,
        platform.file.empty() ? "the platform" : core::format("'{}'", platform.file)));
  constexpr int worth_asking = 100'000;
  constexpr double least_bytes_of_worker = 5000;  // most of it its stack
  if (workers >= worth_asking)
    core::require_memory(workers * least_bytes_of_worker, core::format("a simulation of {} workers", workers));
}

// What died on the platform, and may be the cause of a deadlock.
std::vector<std::string> casualties(const Platform& platform, Time now) {
  std::vector<std::string> all;
  for (const Platform::Fault& fault : platform.faults)
    if (fault.factor == 0 && std::isinf(fault.duration_s) &&
        (from_seconds(fault.at_s) <= now || fault.kind != Platform::Fault::Kind::worker))
      all.push_back(core::format("{} {} died at {}", name_of(fault.kind), fault.id,
                                 core::format_quantity(fault.at_s, core::Unit::time)));
  return all;
}

bool died(const Platform& platform, int worker, Time now) {
  return std::ranges::any_of(platform.faults, [&](const Platform::Fault& fault) {
    return fault.kind == Platform::Fault::Kind::worker && fault.id == worker && fault.factor == 0 &&
           std::isinf(fault.duration_s) && from_seconds(fault.at_s) <= now;
  });
}

std::vector<int> start_order(int workers, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(workers));
  std::iota(order.begin(), order.end(), 0);
  if (seed == 0) return order;
  const auto shuffled = core::RandomStream(seed, core::Purpose::generator).permutation(static_cast<std::uint32_t>(workers));
  return {shuffled.begin(), shuffled.end()};
}

}  // namespace

Report run(const Platform& platform, int workers, const SimulationOptions& options,
           const std::function<void(EmulatedWorker&)>& body) {
  check(platform, workers, options);
  std::vector<std::unique_ptr<backend::Device>> devices;  // outlives the engine, whose end unwinds the workers' stacks
  for (int rank = 0; rank < workers; ++rank) devices.push_back(backend::make_device(options.device));
  Cluster cluster(platform, workers, options);
  for (const auto& device : devices) device->charge_by(cluster.times.call_times());
  std::set<int> unfinished;
  for (int rank = 0; rank < workers; ++rank) unfinished.insert(unfinished.end(), rank);
  for (const int rank : start_order(workers, options.start_order))
    cluster.engine.spawn(static_cast<std::uint32_t>(rank), [&cluster, &body, &devices, &unfinished, rank] {
      // Not on the worker's stack: with 131,072 of them each page counts.
      const auto communicator = std::make_unique<SimCommunicator>(cluster, rank, *devices[static_cast<std::size_t>(rank)]);
      const auto worker = std::make_unique<SimWorker>(*communicator);
      body(*worker);
      worker->finish();
      unfinished.erase(rank);
    });
  bool ended = true;
  try {
    ended = cluster.engine.run(options.stop_when ? [&](Time at) { return options.stop_when(to_seconds(at)); }
                                                 : std::function<bool(Time)>());
  } catch (const comm::Failure&) {
    if (cluster.untold) std::rethrow_exception(cluster.untold);  // the cause of a wait that failed
    throw;
  } catch (const Deadlock& deadlock) {
    if (cluster.untold) std::rethrow_exception(cluster.untold);  // the cause of the deadlock
    const Time now = cluster.engine.now();                       // in whole picoseconds, to which faults are rounded, too
    const auto dead = casualties(platform, now);
    if (dead.empty()) throw;
    // The others, and in particular worker 0, may have finished without those that died.
    if (unfinished.contains(0) || !std::ranges::all_of(unfinished, [&](int rank) { return died(platform, rank, now); }))
      throw comm::Failure(core::format("{}: {}", core::join(dead, ", "), deadlock.what()));
  }
  comm::Traffic traffic = cluster.service_traffic->reading();
  for (const auto& meter : cluster.traffic) traffic += meter->reading();
  const Network::BusiestLink busiest = cluster.network->busiest(cluster.engine.now());
  return {!ended,
          to_seconds(cluster.engine.now()),
          traffic.messages,
          traffic.sent_bytes,
          cluster.engine.events(),
          cluster.interceptor ? cluster.interceptor->shortcuts() : 0,
          cluster.interceptor ? cluster.interceptor->left_out() : 0,
          cluster.engine.host_threads(),
          busiest.name,
          busiest.share};
}

double compute_time_s(const Platform& platform, const backend::WorkMeter& work) {
  return to_seconds(Roofline(platform.device).duration(work));
}

Report run(int workers, const std::function<void(EmulatedWorker&)>& body) {
  return run(free_platform(workers), workers, SimulationOptions{}, body);
}

}  // namespace paragrad::sim
