#pragma once

#include <vector>

#include "sim/network/fifo.hpp"

namespace paragrad::sim {

/// Long messages are cut into segments of equal size, at most message.segment_bytes, of which message.window are in flight
/// at a time: the next one starts when the first of these has arrived. Segments of different messages alternate on shared
/// resources, so concurrent messages share bandwidth about equally. Costs two events per segment.
///
/// Without contention, a message takes as long as an unsegmented one if a window of segments covers the latency:
/// (window - 1) * segment / B >= latency.
class SegmentedNetwork : public FifoNetwork, private Delivery, private EventHandler {
 public:
  SegmentedNetwork(Engine& engine, const Platform& platform, int workers);

  Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) override;
  Insight insight() override { return {}; }

 private:
  struct Flow {
    Route route;              // of a segment
    std::int64_t to_start;    // segments not yet started
    std::int64_t remainder;   // leading segments with one more byte
    std::int64_t unfinished;  // segments that have not arrived
    std::uint32_t actor;
    Delivery* receiver;
    std::uint64_t message;
  };

  Time start_piece(std::uint32_t flow);
  void arrives(std::uint64_t flow, Time at) override;  ///< a segment
  void sent(std::uint64_t, Time) override {}
  void fire(std::uint64_t flow) override;  ///< the window has room for another segment

  std::int64_t segment_bytes_;
  int window_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace paragrad::sim
