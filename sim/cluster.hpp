#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/collectives/nccl.hpp"
#include "sim/compute/foreseen_times.hpp"
#include "sim/engine/engine.hpp"
#include "sim/messages/carrier.hpp"
#include "sim/messages/interceptor.hpp"
#include "sim/messages/transport.hpp"
#include "sim/messages/windows.hpp"
#include "sim/network/network.hpp"
#include "sim/network/storage.hpp"
#include "sim/network/watched.hpp"
#include "sim/shortcut/collective_rendezvous.hpp"
#include "sim/simulation.hpp"
#include "sim/workers/device_queues.hpp"
#include "sim/workers/meeting.hpp"

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
  ForeseenTimes times;
  int workers;
  std::vector<std::shared_ptr<comm::TrafficMeter>> traffic;  // of each worker
  DeviceQueues device_queues;
  Carrier carrier;
  std::unique_ptr<CollectiveInterceptor> interceptor;  // null: every collective is messages
  Transport transport;
  Storage storage;
  Io io;
  std::uint64_t row_bytes;
  double compute_scale;
  int workers_per_node;
  Windows windows;
  std::array<Meeting, 2> meetings;                                                               // of each channel
  std::map<std::pair<comm::Operation, std::size_t>, comm::NcclChoice> nccl_choices;              // by bytes
  std::shared_ptr<comm::TrafficMeter> service_traffic = std::make_shared<comm::TrafficMeter>();  // of all services
  std::vector<comm::TrafficReport> posted;                                                       // by each worker
  std::exception_ptr untold;  // the first error of a task or service that was never joined

  Cluster(const Platform& platform_, int workers_, const SimulationOptions& options)
      : platform(platform_),
        engine(fibers_per_worker * static_cast<std::size_t>(workers_), options.host_threads, options.stack_bytes),
        network(make_watched_network(options, engine, platform, workers_)),
        times(platform),
        workers(workers_),
        traffic(meters(workers_)),
        device_queues(engine, platform, workers_),
        carrier(backend::make_device(options.device)),
        interceptor(make_interceptor(options)),
        transport(engine, *network, carrier, workers_, platform.message, interceptor.get()),
        storage(engine, platform, workers_),
        io(parse_io(options.io)),
        row_bytes(options.row_bytes),
        compute_scale(options.compute_scale *
                      std::pow(1 + platform.program.crowding, std::log2(std::min(workers_, platform.devices_per_node)))),
        workers_per_node(options.workers_per_node > 0 ? options.workers_per_node : platform.workers_per_node(workers)),
        windows(context(), interceptor.get()),
        meetings{Meeting(engine, workers_), Meeting(engine, workers_)},
        posted(static_cast<std::size_t>(workers)) {
    if (interceptor) engine.set_when_stuck([this] { return interceptor->nobody_else_comes(); });
  }

  ~Cluster() { engine.unwind(); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Call when there is traffic other than that of the workers' own fibers.
  void forbid_shortcuts() {
    if (interceptor) interceptor->disable();
  }

 private:
  MessageContext context() { return {platform, workers, engine, *network, times, traffic}; }

  static std::vector<std::shared_ptr<comm::TrafficMeter>> meters(int workers) {
    std::vector<std::shared_ptr<comm::TrafficMeter>> made;
    for (int rank = 0; rank < workers; ++rank) made.push_back(std::make_shared<comm::TrafficMeter>());
    return made;
  }

  /// Null where times cannot be foreseen.
  std::unique_ptr<CollectiveInterceptor> make_interceptor(const SimulationOptions& options) {
    if (!options.shortcuts || backend::make_device(options.device)->computes() || network->insight().topology == nullptr ||
        platform.host.reduces || !platform.faults.empty() || device_queues.needed())
      return nullptr;
    return std::make_unique<CollectiveRendezvous>(context(), options.host_threads, [this] { return transport.idle(); });
  }
};

}  // namespace paragrad::sim
