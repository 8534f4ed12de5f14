#pragma once

#include <vector>

#include "sim/network/fifo.hpp"

namespace paragrad::sim {

/// Long messages travel in pieces of equal size, at most message.segment_bytes, of which message.window are on their way at
/// a time: the next one starts when the first of these has arrived. Pieces of different messages take turns on what they
/// share, so that messages in flight at the same time share bandwidth about equally. Costs two events per piece.
///
/// Alone, a message takes as long as whole if a window of pieces covers the latency: (window - 1) * segment / B >= latency.
class SegmentedNetwork : public FifoNetwork, private Delivery, private EventHandler {
 public:
  SegmentedNetwork(Engine& engine, const Platform& platform, int workers);

  Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) override;
  Insight insight() override { return {}; }

 private:
  struct Flow {
    Route route;              // of a piece
    std::int64_t to_start;    // pieces
    std::int64_t remainder;   // pieces with one more byte, first
    std::int64_t unfinished;  // pieces that have not arrived
    std::uint32_t actor;
    Delivery* receiver;
    std::uint64_t message;
  };

  Time start_piece(std::uint32_t flow);
  void arrives(std::uint64_t flow, Time at) override;  ///< a piece
  void sent(std::uint64_t, Time) override {}
  void fire(std::uint64_t flow) override;  ///< there is room for another piece

  std::int64_t segment_bytes_;
  int window_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace paragrad::sim
