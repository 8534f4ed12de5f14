#pragma once

#include <optional>

#include "comm/segmentation.hpp"

namespace paragrad::comm {

/// One kind of connection between two workers. A message of b bytes takes latency + overhead + b / bandwidth. The overhead
/// is processor time at both ends: in a sequence of messages from one worker, each after the first takes the larger of
/// overhead and b / bandwidth.
struct Wire {
  double latency_s = 0;
  double overhead_s = 0;
  double bytes_per_s = 0;
};

/// What NCCL's cost model needs besides the links (comm/collectives/nccl.cpp).
struct NcclFacts {
  enum class Generation { volta, ampere, hopper, blackwell };

  Generation generation = Generation::volta;
  int channels = 1;             ///< that it opens on this machine
  bool nvlink = true;           ///< inside a node; else PCI Express
  bool adds_in_switch = false;  ///< NVLink SHARP
  double network_latency_s = 0;
  bool amd = false;  ///< the vendor of the nodes' processors; else Intel or others

  /// How measured times differ from NCCL's own model.
  struct Measured {
    double latency_factor = 1;    ///< on the time of a short array
    double bandwidth_factor = 1;  ///< on the bandwidth of a long one
    double sharpness = 0;         ///< p of time^p = latency^p + (bytes / bandwidth)^p; 0: the model's times in between
  };
  Measured inside{};   ///< among the workers of one node
  Measured between{};  ///< among those of several
};

/// Where the workers run: workers_per_node of them share a node and its links to the other nodes.
struct Surroundings {
  Wire inside;
  Wire between;  ///< of one link
  int workers_per_node = 1;
  int links_per_node = 1;  ///< to the other nodes; each worker uses one of them, so more than workers_per_node do not help
  std::optional<NcclFacts> nccl{};
  Segmentation segmentation{};
};

}  // namespace paragrad::comm
