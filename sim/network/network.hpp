#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// Told when a message has arrived whole.
class Delivery {
 public:
  virtual ~Delivery() = default;
  virtual void delivered(std::uint64_t message) = 0;
};

/// How long messages take, and how they stand in each other's way. One object per simulation; called by the engine's thread,
/// in the order of virtual time.
class Network {
 public:
  virtual ~Network() = default;

  /// Sends `bytes` from rank to rank, from now on; receiver.delivered(message) is called at the time of arrival. Returns
  /// when the sender's side is done with the data.
  virtual Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) = 0;

  /// Smallest time between a start and its delivery: what a short control message would take.
  virtual Time latency(int from, int to) const = 0;
};

std::vector<std::string> network_names();

/// From sim/network/catalogue.def. Throws ConfigError for an unknown name.
std::unique_ptr<Network> make_network(std::string_view name, Engine& engine, const Platform& platform);

}  // namespace paragrad::sim
