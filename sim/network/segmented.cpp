#include "sim/network/segmented.hpp"

namespace paragrad::sim {

SegmentedNetwork::SegmentedNetwork(Engine& engine, const Platform& platform, int workers)
    : FifoNetwork(engine, platform, workers),
      segment_bytes_(platform.message.segment_bytes),
      window_(platform.message.window) {}

Time SegmentedNetwork::start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) {
  if (bytes <= segment_bytes_) return FifoNetwork::start(from, to, bytes, receiver, message);
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  Flow& flow = flows_[index];
  const std::int64_t pieces = (bytes + segment_bytes_ - 1) / segment_bytes_;
  flow = {topology_.route(from, to, bytes), pieces, 0, pieces, static_cast<std::uint32_t>(to), &receiver, message};
  flow.remainder = flow.route.bytes % pieces;
  flow.route.bytes /= pieces;
  flow.route.at_least /= pieces;
  Time end = never;
  for (int i = 0; i < window_ && flow.to_start > 0; ++i) end = start_piece(index);
  return flow.to_start > 0 ? never : end;
}

Time SegmentedNetwork::start_piece(std::uint32_t index) {
  Flow& flow = flows_[index];
  --flow.to_start;
  Route route = flow.route;
  if (flow.remainder > 0) {
    --flow.remainder;
    ++route.bytes;
  }
  return pipeline_.send(route, flow.actor, *this, index);
}

void SegmentedNetwork::arrives(std::uint64_t index, Time at) {
  Flow& flow = flows_[index];
  --flow.unfinished;
  if (flow.unfinished == 0) {
    unused_.push_back(static_cast<std::uint32_t>(index));
    flow.receiver->arrives(flow.message, at);
  } else if (flow.unfinished >= window_) {
    engine_.schedule(at, flow.actor, *this, index);
  }
}

void SegmentedNetwork::fire(std::uint64_t index) {
  const Time end = start_piece(static_cast<std::uint32_t>(index));
  const Flow& flow = flows_[index];
  if (flow.to_start == 0 && end < never) flow.receiver->sent(flow.message, end);
}

}  // namespace paragrad::sim
