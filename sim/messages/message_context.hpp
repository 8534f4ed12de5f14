#pragma once

#include <memory>
#include <vector>

#include "comm/traffic.hpp"
#include "sim/compute/foreseen_times.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/network.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// What all kinds of messages of one simulation have in common.
struct MessageContext {
  const Platform& platform;
  int workers;
  Engine& engine;
  Network& network;
  ForeseenTimes& times;
  const std::vector<std::shared_ptr<comm::TrafficMeter>>& traffic;  ///< of each worker

  comm::TrafficMeter& traffic_of(int rank) const { return *traffic[static_cast<std::size_t>(rank)]; }
};

}  // namespace paragrad::sim
