#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/network/topology.hpp"
#include "sim/platform.hpp"
#include "sim/shortcut/collective_program.hpp"
#include "sim/shortcut/collective_state.hpp"
#include "sim/shortcut/repetition.hpp"
#include "sim/shortcut/route_cache.hpp"

namespace paragrad::sim::shortcut {

/// Computes when each worker ends a collective whose operations are known: a max-plus recurrence over the dependences
/// between workers and messages, without events. It uses the same arithmetic as Transport and Pipeline, so times agree to
/// the picosecond; if they would depend on an order that only the simulation can determine, it gives up.
class TimeRecurrence {
 public:
  /// sum_time: returns the time of adding a number of floats.
  TimeRecurrence(const Topology& topology, const Resources& resources, const Platform::Message& costs,
                 std::function<Time(std::uint32_t)> sum_time);

  struct Start {
    Time at = 0;
    CollectivePrograms::Cursor program;
  };

  /// starts: of every worker. oldest_request: the largest age, counted in requests, of a request that a worker waits for.
  /// False: the times could not be computed.
  bool run(const std::vector<Start>& starts, std::uint32_t oldest_request);

  Time end(int rank) const { return state_.workers[static_cast<std::size_t>(rank)].time; }

  /// Messages sent from this time on request no resource before all of these messages are done with it.
  Time quiet_from() const { return quiet_from_; }

  /// Repeated pieces of programs that were skipped.
  std::uint64_t left_out() const { return repetition_.left_out(); }

  void commit(Resources& resources) const { state_.timetable.commit(resources); }

 private:
  static constexpr std::size_t most_channels = 64;
  static constexpr std::uint32_t most_requests = 256;

  void go_on(int rank);
  bool step(int rank, const Operation& operation);
  void send(int rank, int to, const Operation& operation);
  void receive(int rank, int from, const Operation& operation);
  bool wait(int rank, const Operation& operation);
  bool wait_for_send(Worker& worker, std::uint32_t id);
  bool wait_for_receive(Worker& worker, std::uint32_t id);

  std::uint32_t match(int from, int to, std::uint32_t tag, bool sending);
  void matched(Message& message);
  void leave(Worker& sender);
  bool hurry();
  void set_out(Message& message, bool ahead);
  void come_in(Worker& receiver, std::uint32_t id);
  void come_in(Message& message);
  Time cross(const CachedRoute& cached, int hop, Message& message);
  void note_request(int rank, std::uint32_t id, bool receiving);
  void free_if_over(std::uint32_t id);

  const Topology& topology_;
  std::int64_t eager_bytes_;
  Time send_overhead_, receive_overhead_;
  bool handshake_;
  Time least_latency_;
  InverseBandwidth copy_;
  std::function<Time(std::uint32_t)> sum_time_;
  std::uint32_t last_sum_floats_ = none;
  Time last_sum_time_ = 0;

  int size_ = 0;
  RouteCache routes_;
  CollectiveState state_;
  Repetition repetition_;
  std::vector<std::uint32_t> unused_;  // messages
  std::vector<int> ready_;  // workers that can continue; the last one first, as its neighbours' data are in the cache
  Time quiet_from_ = 0;
  bool failed_ = false;
};

}  // namespace paragrad::sim::shortcut
