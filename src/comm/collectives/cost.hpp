#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paragrad::comm {

/// One kind of connection between two workers: a message of b bytes takes latency + overhead + b / bandwidth, of which the
/// overhead is time of the two processors: of k messages of one worker, each after the first takes the greater of overhead
/// and b / bandwidth.
struct Wire {
  double latency_s = 0;
  double overhead_s = 0;
  double bytes_per_s = 0;
};

/// Where the workers are: workers_per_node of them share a node, and its one link to the other nodes.
struct Surroundings {
  Wire inside;
  Wire between;
  int workers_per_node = 1;
};

/// What an allreduce costs.
struct Cost {
  int steps = 0;                        ///< messages in a row on the longest path
  std::uint64_t messages = 0;           ///< of all workers together, while none is longer than a segment
  std::uint64_t busiest_bytes = 0;      ///< sent by the worker that sends most
  double time_s = 0;                    ///< of the messages alone: additions take no time here
  std::uint64_t busiest_additions = 0;  ///< bytes of float32 that the worker which adds most adds
};

/// The closed forms of all algorithms in one place; src/comm/collectives/README.md shows them. Exact in steps, messages
/// and, where `bytes` divides into equal stripes of float32, in bytes. The time is exact to rounding where no message is
/// longer than a segment (256 kB) and nobody shares a link (workers_per_node = 1); longer arrays are cut into segments that
/// follow each other closely, so that the ring, for instance, is up to half its latencies faster; where workers share the
/// node's link, each step takes as long as the link needs for all who use it.
///
/// algorithm  of the catalogue, hierarchical with its parameters. Throws ConfigError for others: nothing is known of native,
///            and auto is one of these.
Cost cost_of(std::string_view algorithm, int workers, std::size_t bytes, const Surroundings& where);

}  // namespace paragrad::comm
