#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

class Resources;
class Topology;

/// Told of a message's fate as soon as nothing can change it any more: `at` is now or later. So what nobody waits for costs
/// no event.
class Delivery {
 public:
  virtual ~Delivery() = default;

  /// It arrives whole.
  virtual void arrives(std::uint64_t message, Time at) = 0;

  /// The sender's side is done with the data; only if Network::start did not know.
  virtual void sent(std::uint64_t message, Time at) = 0;
};

/// How long messages take, and how they stand in each other's way. One object per simulation; called by the engine's thread,
/// in the order of simulated time.
class Network {
 public:
  virtual ~Network() = default;

  /// Sends `bytes` from rank to rank, from now on. receiver.arrives(message, at) is called once, within this call or later,
  /// or not at all if something on the way is dead. Returns when the sender's side is done with the data, or never if that
  /// is not known yet: receiver.sent(message, at) will say it.
  virtual Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) = 0;

  /// Smallest time between a start and its delivery: what a short control message would take.
  virtual Time latency(int from, int to) const = 0;

  /// Reads or writes `bytes` of the host memory of the worker's node, from now on; messages that are staged there wait
  /// meanwhile. Returns when that is over. Only for platforms whose hosts reduce.
  virtual Time pass_host_memory(int rank, std::int64_t bytes) = 0;

  /// For who works out messages beforehand: how whole messages travel, if that is all there is to the model.
  struct Insight {
    const Topology* topology = nullptr;  ///< or none
    Resources* resources = nullptr;
  };
  virtual Insight insight() { return {}; }
};

std::vector<std::string> network_names();

/// From sim/network/catalogue.def. Throws ConfigError for an unknown name.
std::unique_ptr<Network> make_network(std::string_view name, Engine& engine, const Platform& platform, int workers);

}  // namespace paragrad::sim
