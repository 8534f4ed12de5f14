#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/operations.hpp"
#include "comm/wire.hpp"

namespace paragrad::comm {

/// What an operation costs.
struct Cost {
  int steps = 0;                        ///< consecutive messages on the longest path
  std::uint64_t messages = 0;           ///< total of all workers, if none is longer than a segment
  std::uint64_t busiest_bytes = 0;      ///< sent by the worker that sends most
  double time_s = 0;                    ///< messages only; additions count as free
  std::uint64_t busiest_additions = 0;  ///< bytes of float32 added by the worker that adds most

  // Of an allreduce, between its two halves:
  int parts = 1;   ///< into which the sum is divided
  int owners = 1;  ///< workers that hold one of them
};

/// The closed form of an algorithm, which its file states; src/comm/collectives/README.md shows all. Steps and messages are
/// exact; bytes are exact if `bytes` divides into equal parts of float32. The time is exact up to rounding if no message is
/// longer than a segment (Segmentation) and no link is shared (workers_per_node = 1). Longer arrays are cut into pipelined
/// segments, so the ring, for instance, saves up to half its latencies. If workers share the node's links, each step takes
/// as long as the links need for all of them.
///
/// algorithm  a name of the catalogue, hierarchical with its parameters. Throws ConfigError if it does not serve the
///            operation or has no closed form: native and nccl, whose algorithms are unknown, and auto, which picks another.
/// bytes      of a worker's array; of all_to_all the array that it sends, its own block included, in equal blocks.
/// where      throws ConfigError if workers_per_node is 0: the workers do not fill the nodes in rank order.
Cost cost_of(Operation operation, std::string_view algorithm, int workers, double bytes, const Surroundings& where);

bool has_closed_form(std::string_view algorithm);

}  // namespace paragrad::comm
