#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "sim/engine/engine.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

class Resources;
class Topology;

/// Notified of a message's times as soon as they are final: `at` is now or later. So a message that no fiber waits for costs
/// no event.
class Delivery {
 public:
  virtual ~Delivery() = default;

  /// The whole message has arrived at `at`.
  virtual void arrives(std::uint64_t message, Time at) = 0;

  /// The sender's memory is free at `at`; called only if Network::start could not tell.
  virtual void sent(std::uint64_t message, Time at) = 0;
};

/// How long messages take, and how they contend for shared resources. One object per simulation; called by the engine's
/// thread, in the order of simulated time.
class Network {
 public:
  virtual ~Network() = default;

  /// Sends `bytes` from rank to rank, starting now. receiver.arrives(message, at) is called once, within this call or later,
  /// or not at all if a resource on the route is dead. Returns the time when the sender's memory is free, or `never` if that
  /// is not known yet: then receiver.sent(message, at) is called later.
  virtual Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) = 0;

  /// The shortest time between start and delivery: that of a short control message.
  virtual Time latency(int from, int to) const = 0;

  /// Reads or writes `bytes` of the host memory of the worker's node, starting now; messages staged there wait meanwhile.
  /// Returns the end time. Only for platforms whose hosts reduce.
  virtual Time pass_host_memory(int rank, std::int64_t bytes) = 0;

  /// The resource that was in use for the largest part of the time until `now`, the first of several: links, NICs, buses,
  /// copies in memory.
  struct BusiestLink {
    std::string name;  ///< "NIC 0 of node 3, out"; empty if nothing was sent
    double share = 0;  ///< of the time, the mean over its channels
  };
  virtual BusiestLink busiest(Time now) const = 0;

  /// For callers that precompute message times: the internals of a model that only sends whole messages.
  struct Insight {
    const Topology* topology = nullptr;  ///< null: not available
    Resources* resources = nullptr;
  };
  virtual Insight insight() { return {}; }
};

core::CatalogueInfo network_catalogue();

/// From sim/network/catalogue.def. Throws ConfigError for an unknown name.
std::unique_ptr<Network> make_network(std::string_view name, Engine& engine, const Platform& platform, int workers);

}  // namespace paragrad::sim
