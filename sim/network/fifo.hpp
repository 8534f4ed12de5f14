#pragma once

#include "sim/network/topology.hpp"

namespace paragrad::sim {

/// Every message is sent as a whole; messages that share a resource cross it one after the other.
class FifoNetwork : public Network {
 public:
  FifoNetwork(Engine& engine, const Platform& platform, int workers);

  Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) override;
  Time latency(int from, int to) const override { return topology_.latency(from, to); }
  Time pass_host_memory(int rank, std::int64_t bytes) override;
  BusiestLink busiest(Time now) const override;
  Insight insight() override { return {&topology_, &resources_}; }

 protected:
  Engine& engine_;
  Resources resources_;
  Topology topology_;
  Pipeline pipeline_;
};

}  // namespace paragrad::sim
