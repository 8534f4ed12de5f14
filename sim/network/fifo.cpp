#include "sim/network/fifo.hpp"

namespace paragrad::sim {

FifoNetwork::FifoNetwork(Engine& engine, const Platform& platform, int workers)
    : engine_(engine),
      resources_(from_seconds(platform.message.gap_s)),
      topology_(platform, workers, resources_),
      pipeline_(engine, resources_) {}

Time FifoNetwork::start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) {
  return pipeline_.send(topology_.route(from, to, bytes), static_cast<std::uint32_t>(to), receiver, message);
}

Network::BusiestLink FifoNetwork::busiest(Time now) const {
  Resources::Id most = 0;
  for (Resources::Id id = 1; id < resources_.size(); ++id)
    if (resources_.busy_ps(id) > resources_.busy_ps(most)) most = id;
  if (now == 0 || resources_.busy_ps(most) == 0) return {};
  return {topology_.name_of(most), resources_.busy_ps(most) / static_cast<double>(now)};
}

Time FifoNetwork::pass_host_memory(int rank, std::int64_t bytes) {
  return topology_.pass_host_memory(rank, bytes, engine_.now());
}

}  // namespace paragrad::sim
