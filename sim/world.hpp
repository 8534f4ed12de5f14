#pragma once

#include <memory>

#include "sim/compute/measured_times.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/network.hpp"
#include "sim/network/storage.hpp"
#include "sim/network/watched.hpp"
#include "sim/simulation.hpp"
#include "sim/transport.hpp"
#include "sim/turns.hpp"

namespace paragrad::sim {

inline std::unique_ptr<Network> make_watched_network(const Options& options, Engine& engine, const Platform& platform,
                                                     int workers) {
  auto network = make_network(options.network, engine, platform, workers);
  if (!options.on_transfer) return network;
  return std::make_unique<WatchedNetwork>(engine, std::move(network), options.on_transfer);
}

/// What all workers of one simulation share.
struct World {
  const Platform& platform;
  Engine engine;
  std::unique_ptr<Network> network;
  Transport transport;
  Storage storage;
  Turns turns;
  Roofline roofline;
  std::shared_ptr<const backend::CallTimes> call_times;                  // every device charges by it
  std::unique_ptr<backend::Device> meta = backend::make_device("meta");  // counts what a call would cost
  int workers;
  double compute_scale;
  int workers_per_node;

  World(const Platform& platform_, int workers_, const Options& options)
      : platform(platform_),
        engine(3 * static_cast<std::size_t>(workers_), options.host_threads, options.stack_bytes),
        network(make_watched_network(options, engine, platform, workers_)),
        transport(engine, *network, workers_, platform.message),
        storage(engine, platform, workers_),
        turns(engine, platform, workers_),
        roofline(platform.device),
        call_times(measured_times(platform.device)),
        workers(workers_),
        compute_scale(options.compute_scale),
        workers_per_node(options.workers_per_node > 0 ? options.workers_per_node : platform.workers_per_node(workers)) {
    meta->charge_by(call_times);
  }
};

}  // namespace paragrad::sim
