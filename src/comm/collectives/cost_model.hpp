#pragma once

#include <cstdint>
#include <string_view>

#include "comm/collectives/cost.hpp"

namespace paragrad::comm::collectives {

/// What the closed forms in the algorithms' files are made of, for one number of workers and one length.
struct CostModel {
  int workers;   ///< at least 2
  double bytes;  ///< more than 0
  Surroundings where;
  std::string_view parameters{};  ///< of the algorithm, after its colon

  int active() const;  ///< the largest power of two among the workers
  int rounds() const;  ///< log2 of it

  const Wire& wire(int distance) const { return distance < where.workers_per_node ? where.inside : where.between; }
  const Wire& slowest_wire() const;
  int workers_here() const;  ///< that share a node

  /// How often a node's links carry `length` bytes one after the other, if `flows` of its workers send that to other nodes.
  double turns(int flows) const;

  /// Time if every worker sends to the one `distance` after it: the last ones of a node send to the next node.
  double shift_s(int distance, double length) const;

  /// Time if all workers exchange with those `distance` away, in pairs that do not leave a node for distances within it.
  double exchange_s(int distance, double length) const;

  /// Time if every worker of a node sends a part to every worker of the other nodes.
  double between_nodes_s(double part) const;

  /// Time of `messages` messages on the slowest link, as many in flight as Segmentation::messages_in_flight says.
  double windowed_burst_s(int messages, double length) const;

  /// Cost of Fold: the workers beyond the last power of two give their array away beforehand and get it back afterwards.
  Cost folded() const;
};

int log2_floor(int n);
int log2_ceil(int n);

inline std::uint64_t count(int n) { return static_cast<std::uint64_t>(n); }
std::uint64_t whole(double bytes);

/// Time of a message that follows another one, and of a message alone.
inline double each_s(const Wire& link, double bytes) { return link.overhead_s + bytes / link.bytes_per_s; }
inline double message_s(const Wire& link, double bytes) { return link.latency_s + each_s(link, bytes); }

/// Time of `messages` messages on one worker's link, `in_flight` at a time.
double burst_s(const Wire& link, int messages, double bytes, double in_flight);

/// What an allreduce costs on the way back: as many messages as on the way in and no additions. For algorithms whose busiest
/// worker sends only then.
Cost way_back(const Cost& both);

/// Up and down a binomial tree, `length` bytes of the array at a time.
Cost binomial_cost(const CostModel& model, double length);

}  // namespace paragrad::comm::collectives
