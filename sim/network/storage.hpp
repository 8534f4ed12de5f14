#pragma once

#include <string_view>

#include "sim/network/pipeline.hpp"
#include "sim/platform.hpp"

namespace paragrad::sim {

/// When a worker's samples are read. none: they are in memory. blocking: when they are needed. prefetch: as soon as they are
/// known, while the previous split is processed: "next split will be loaded to memory when current split is being
/// processed" (Chen and Huo, ICASSP 2016).
enum class Io { none, blocking, prefetch };

/// Throws ConfigError.
Io parse_io(std::string_view name);

/// A parallel file system: opens are served by a queue, then data flow in pieces through the file system's aggregate
/// bandwidth and the link of the client, which is a node. Nodes that transfer at the same time share the aggregate about
/// equally; the workers of a node share its link. A platform without storage has an ideal one.
///
/// Which client waits for the last piece depends on scheduling: with a slower link the last one may end up to one piece's
/// time earlier. Otherwise times never decrease when anything gets slower.
class Storage : private Delivery {
 public:
  Storage(Engine& engine, const Platform& platform, int workers);

  // For the running fiber, which continues when all bytes have been transferred.
  void read(int rank, std::int64_t bytes) { transfer(rank, bytes, readers_); }
  void write(int rank, std::int64_t bytes) { transfer(rank, bytes, writers_); }

 private:
  struct Piece {
    Fiber* fiber = nullptr;
    bool blocked = false;
    Time at = never;
  };

  void transfer(int rank, std::int64_t bytes, Resources::Id aggregate);
  void move(std::uint32_t actor, const Route& route);
  void arrives(std::uint64_t piece, Time at) override;
  void sent(std::uint64_t, Time) override {}

  Engine& engine_;
  Resources resources_;
  Pipeline pipeline_;
  int workers_, slots_, devices_per_node_;
  Time open_;
  Resources::Id opens_, readers_, writers_, clients_;
};

}  // namespace paragrad::sim
