#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backend/kernels/add.hpp"
#include "sim/compute/measured_times.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/engine/engine.hpp"
#include "sim/messages/carrier.hpp"
#include "sim/messages/transport.hpp"
#include "sim/messages/windows.hpp"
#include "sim/network/network.hpp"
#include "sim/network/storage.hpp"
#include "sim/network/watched.hpp"
#include "sim/shortcut/collective_rendezvous.hpp"
#include "sim/simulation.hpp"
#include "sim/workers/device_queues.hpp"

namespace paragrad::sim {

inline std::unique_ptr<Network> make_watched_network(const SimulationOptions& options, Engine& engine,
                                                     const Platform& platform, int workers) {
  auto network = make_network(options.network, engine, platform, workers);
  if (!options.on_transfer) return network;
  return std::make_unique<WatchedNetwork>(engine, std::move(network), options.on_transfer);
}

/// State shared by all workers of one simulation.
struct Cluster {
  static constexpr std::size_t fibers_per_worker = 4;  // the worker, its tasks, its service, its data reader

  const Platform& platform;
  Engine engine;
  std::unique_ptr<Network> network;
  Carrier carrier;
  Transport transport;
  Storage storage;
  Io io;
  std::uint64_t row_bytes;
  DeviceQueues device_queues;
  Roofline roofline;
  std::shared_ptr<const backend::CallTimes> call_times;                  // used by every device to charge time
  std::unique_ptr<backend::Device> meta = backend::make_device("meta");  // counts what a call would cost
  int workers;
  double compute_scale;
  int workers_per_node;
  std::unordered_map<std::size_t, Time> sum_times;  // cache; looked up only, never iterated
  CollectiveRendezvous rendezvous;
  Windows windows;
  std::vector<std::shared_ptr<comm::TrafficMeter>> traffic;                                      // of each worker
  std::shared_ptr<comm::TrafficMeter> service_traffic = std::make_shared<comm::TrafficMeter>();  // of all services
  std::vector<comm::TrafficReport> posted;                                                       // by each worker
  std::exception_ptr untold;  // the first error of a task or service that was never joined

  Cluster(const Platform& platform_, int workers_, const SimulationOptions& options)
      : platform(platform_),
        engine(fibers_per_worker * static_cast<std::size_t>(workers_), options.host_threads, options.stack_bytes),
        network(make_watched_network(options, engine, platform, workers_)),
        carrier(backend::make_device(options.device)),
        transport(engine, *network, carrier, workers_, platform.message),
        storage(engine, platform, workers_),
        io(parse_io(options.io)),
        row_bytes(options.row_bytes),
        device_queues(engine, platform, workers_),
        roofline(platform.device),
        call_times(measured_times(platform.device)),
        workers(workers_),
        compute_scale(options.compute_scale),
        workers_per_node(options.workers_per_node > 0 ? options.workers_per_node : platform.workers_per_node(workers)),
        rendezvous(*this, options.host_threads, options.shortcuts && can_foresee(options)),
        windows(*this, platform.message),
        posted(static_cast<std::size_t>(workers)) {
    meta->charge_by(call_times);
    for (int rank = 0; rank < workers; ++rank) traffic.push_back(std::make_shared<comm::TrafficMeter>());
    transport.set_rendezvous(rendezvous);
    engine.set_when_stuck([this] { return rendezvous.nobody_else_comes(); });
  }

  ~Cluster() { engine.unwind(); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  comm::TrafficMeter& traffic_of(int rank) { return *traffic[static_cast<std::size_t>(rank)]; }

  /// Time of a worker's kernels; nothing if noise makes every computation's its own.
  std::optional<Time> foreseen_time(const backend::WorkMeter& work) const {
    if (platform.noise.rank_sigma > 0 || platform.noise.step_sigma > 0) return std::nullopt;
    return roofline.duration(work);
  }

  /// Time of adding `floats` floats on a device.
  Time time_of_sum(std::size_t floats) {
    const auto [found, is_new] = sum_times.try_emplace(floats);
    if (!is_new) return found->second;
    core::Arena data = meta->allocate(floats);
    const backend::WorkMeter before = meta->meter();
    meta->run(backend::Add{data.span(), data.span()});
    backend::WorkMeter work = meta->meter();
    work -= before;
    return found->second = roofline.duration(work);
  }

 private:
  bool can_foresee(const SimulationOptions& options) const {
    return !backend::make_device(options.device)->computes() && network->insight().topology != nullptr &&
           !platform.host.reduces && platform.faults.empty() && !device_queues.needed();
  }
};

}  // namespace paragrad::sim
