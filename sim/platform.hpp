#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/wire.hpp"
#include "sim/compute/kernel_table.hpp"
#include "sim/platform_changes.hpp"

namespace paragrad::sim {

/// One kind of connection: latency and bandwidth per direction.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// A cluster, real or hypothetical. All nodes are identical; a worker is a device; workers fill the nodes in rank order.
///
/// The time of a message depends on the highest level that separates its ends: peer (same socket), node (other socket), leaf
/// (other node at the same switch), core (other switch). The costs and shared resources are those of the LogGP-like model
/// that `Network` implements. Whatever a file omits is ideal: it costs nothing and limits nothing.
struct Platform {
  std::string name;
  std::string file;    ///< the file it was read from, or the name of a built-in platform; empty if made by code
  std::string sha256;  ///< of the file's content; empty if made by code, or with values that were changed

  int nodes = 1;
  int devices_per_node = 1;
  int sockets_per_node = 1;  ///< devices and NICs are spread over them in order
  int nodes_per_leaf = 0;    ///< nodes at one leaf switch; 0: all
  double taper = 1;  ///< oversubscription of the leaf switches: 2 = the uplinks carry half of what the nodes can send
  double spine_bytes_per_s = 0;  ///< total of all traffic between leaf switches; 0: no limit

  struct Device {
    double flops_per_s = 0;                 ///< peak, float32
    double bytes_per_s = 0;                 ///< memory bandwidth
    double gemm_efficiency = 1;             ///< fraction of the peak that a matrix product reaches
    double memory_efficiency = 1;           ///< fraction of the bandwidth that a streaming kernel reaches
    double launch_s = 0;                    ///< fixed cost of a kernel
    double memory_bytes = 0;                ///< 0: not known
    double price_per_hour = 0;              ///< in any currency; 0: not known
    std::vector<KernelTable> kernels = {};  ///< measured times, if any (`paragrad calibrate`)
  } device;

  struct Node : Link {
    double shared_bytes_per_s = 0;  ///< of the connection between the sockets, per direction and node; 0: no limit
  };
  struct Leaf : Link {
    int nics_per_node = 1;  ///< each carries `bytes_per_s` per direction; devices are assigned to them in order
  };

  std::optional<Link> self;   ///< two workers on one device (oversubscribed); absent: as peer
  Link peer;                  ///< two devices of one socket; bandwidth of a device's link in each direction
  Node node;                  ///< two sockets of one node; bandwidth of one message
  Leaf leaf;                  ///< two nodes at one leaf switch
  double core_latency_s = 0;  ///< two nodes at different leaf switches

  /// How collectives made of messages add, by this program or by the library that it stands for.
  struct Reduction {
    comm::Segmentation segmentation{};
    bool launches = true;  ///< each addition is a kernel of its own; false: part of one that runs all the time
  } reduction;

  std::optional<comm::NcclFacts> nccl;  ///< for timing runs with its collectives

  /// What the training program costs beside kernels and messages.
  struct Program {
    double step_cost_s = 0;  ///< at the host, before each step of a worker
    double overlap = 1;      ///< share of the exchange beside a computation that costs the computation no time
    double crowding = 0;  ///< share by which computing slows for each doubling of the workers of a node, who share its host
  } program;

  /// Costs of messages, at the processors of both ends.
  struct Message {
    double send_overhead_s = 0;        ///< the sender's processor per message
    double receive_overhead_s = 0;     ///< the receiver's processor per message
    double gap_s = 0;                  ///< idle time of each resource between two messages
    std::int64_t eager_bytes = 65536;  ///< longer messages start only when their receive is posted (rendezvous)
    bool handshake = false;       ///< a rendezvous costs two latencies before the data (otherwise it is part of the latency)
    double copy_bytes_per_s = 0;  ///< copying an eager message into and out of its buffer; 0: no cost
    std::int64_t segment_bytes = 1'000'000;  ///< model `segmented`: longer messages are cut into segments of this size
    int window = 2;                          ///< … and a message has at most this many segments in flight
  } message;

  /// Multiplies latency and bandwidth of messages of `from_bytes` or more (like SMPI's piecewise factors).
  struct SizeClass {
    std::int64_t from_bytes = 0;
    double latency_factor = 1;
    double bandwidth_factor = 1;
  };
  std::vector<SizeClass> size_classes;  ///< in ascending order of from_bytes

  /// The host memory of a node, a single resource shared by everything on the node.
  struct Host {
    double bytes_per_s = 0;  ///< 0: no limit
    bool staged = false;     ///< messages are written to and read from it on both nodes
    bool reduces = false;    ///< sums are computed there instead of on the device: three passes over the data
  } host;

  /// A parallel file system.
  struct Storage {
    double client_bytes_per_s = 0;  ///< of one node; 0: no limit
    double read_bytes_per_s = 0;    ///< of all nodes together; 0: no limit
    double write_bytes_per_s = 0;
    double open_s = 0;       ///< per open
    int parallel_opens = 1;  ///< maximum served at the same time
  };
  std::optional<Storage> storage;

  /// Multiplies computing times by exp(sigma |z|), z standard normal (see sim/compute/pace.hpp).
  struct Noise {
    std::uint64_t seed = 1;
    double rank_sigma = 0;  ///< one factor per worker
    double step_sigma = 0;  ///< one factor per worker and computation
  } noise;

  struct Fault {
    enum class Kind { worker, device_link, nic, uplink };
    double at_s = 0;
    Kind kind = Kind::worker;
    int id = 0;         ///< rank; worker's device; node * nics_per_node + NIC; leaf switch
    double factor = 0;  ///< remaining fraction of the speed; 0: dead
    double duration_s = std::numeric_limits<double>::infinity();
  };
  std::vector<Fault> faults;

  /// Devices that fail at random, and what a failure costs (see sim/failures/goodput.hpp).
  struct Failures {
    /// Mean time between failures of one device, which take its node away.
    double mtbf_s = std::numeric_limits<double>::infinity();
    double repair_s = 0;        ///< from the failure until the node can be used again
    double restart_s = 0;       ///< from the failure until the other nodes go on
    double rejoin_s = 0;        ///< for which they stop again when repaired nodes join
    double rejoin_every_s = 0;  ///< shortest time between two such stops
    double save_s = 0;          ///< for which all stop to save the state

    // Of goodput predictions. A simulated training saves its state as its options say.
    bool loses_work = false;  ///< since the last saved state; otherwise other devices hold the state in memory
    double save_every_s = 0;  ///< work between two saved states; 0: Daly's estimate

    std::uint64_t seed = 1;
  };
  std::optional<Failures> failures;

  /// How fast one device trains a model, if that is known.
  struct Rate {
    std::string model;   ///< as --model names it
    std::string series;  ///< tells several rates of a model apart, "" or "fp16"
    double samples_per_s = 0;
  };
  std::vector<Rate> rates;

  /// What `paragrad fit` knows of the values that it has fitted.
  struct Fit {
    std::int64_t rows = 0;                        ///< measurements
    std::string reach;                            ///< over which they communicate: device, node, network
    std::vector<std::string> names;               ///< "leaf.bandwidth"; of rates "rate[0]"
    std::vector<std::string> unmeasured;          ///< those of them that no measurement determines
    std::vector<std::vector<double>> covariance;  ///< of their coordinates (fitting/parameters.hpp)
  };
  std::optional<Fit> fit;

  /// What the file says after ±, by "section.key": the standard deviation of the value's logarithm, or logit if it is a
  /// share (fitting/parameters.hpp).
  std::map<std::string, double> spreads;

  /// Those keys of the file whose absence means something: of [program], and sharpness of NCCL; "section.key".
  std::set<std::string> stated;

  int workers() const { return nodes * devices_per_node; }

  /// Workers per node for `n` workers; 0: not equally many on each node (see device_of).
  int workers_per_node(int n) const { return n <= workers() ? devices_per_node : n % nodes == 0 ? n / nodes : 0; }
  int leaves() const { return nodes_per_leaf == 0 ? 1 : (nodes + nodes_per_leaf - 1) / nodes_per_leaf; }
};

/// Device of a worker. If there are more workers than devices, consecutive ranks share a device, evenly.
inline int device_of(int rank, int workers, int devices) {
  return workers <= devices ? rank : static_cast<int>(std::int64_t{rank} * devices / workers);
}

const char* name_of(Platform::Fault::Kind kind);

/// Reads a platform file (TOML, quantities with units: "9.3us", "4.2GBps"), or the built-in platform of that name
/// (builtin_platforms.hpp) if there is no such file. Throws ConfigError that names file and key:
/// unknown or missing key, value without unit, value out of bounds (bandwidth below 1 kBps, latency below 1 ns).
/// changes: its name then ends with their values, after a space.
Platform read_platform(const std::string& path, const PlatformChanges& changes = {});

/// The text that it reads. Throws ConfigError.
std::string platform_source(const std::string& path);

/// `workers` devices, each on its own node, with links and devices that cost almost no time (1 ns per message). For tests of
/// results rather than times.
Platform free_platform(int workers);

}  // namespace paragrad::sim
