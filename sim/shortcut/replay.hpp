#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/network/topology.hpp"
#include "sim/platform.hpp"
#include "sim/shortcut/program.hpp"
#include "sim/shortcut/timetable.hpp"

namespace paragrad::sim::shortcut {

/// Works out when each worker ends a collective whose operations are known: a max-plus recurrence over workers and messages
/// that follows who waits for what, without events. The same arithmetic as Transport and Pipeline, so the times are theirs,
/// to the picosecond; where they would depend on an order that only the simulation can tell, it gives up.
class Replay {
 public:
  /// sum_time: how long adding so many floats takes.
  Replay(const Programs& programs, const Topology& topology, const Resources& resources, const Platform::Message& costs,
         std::function<Time(std::uint32_t)> sum_time);

  /// begins: when each worker starts. False: could not be worked out.
  bool run(const std::vector<Time>& begins);

  Time end(int rank) const { return workers_[static_cast<std::size_t>(rank)].time; }

  /// Messages that are sent from then on ask for nothing before all of these have done.
  Time quiet_from() const { return quiet_from_; }

  void commit(Resources& resources) const { timetable_.commit(resources); }

 private:
  struct Message {
    int from = 0, to = 0;
    std::uint32_t tag = 0;
    std::uint32_t bytes = 0;
    bool eager = false;
    bool sent = false, wanted = false;                  // the send, the receive has been posted
    bool sender_waits = false, receiver_waits = false;  // that worker cannot go on
    bool send_over = false, receive_over = false;
    Time sent_at = 0, wanted_at = 0;
    Time departs_at = never;
    Timetable::Origin origin{};
    Time head = never, tail = 0;  // where the receiver's side begins
    Time released_at = never, arrives_at = never;
    std::uint32_t next = none;  // in its channel
  };
  struct Channel {  // of unmatched sends or of unmatched receives
    int from = 0;
    std::uint32_t tag = 0;
    std::uint32_t first = none, last = none;
  };
  struct LastRoute {  // messages mostly go where the one before went
    int peer = -1;
    std::uint32_t bytes = 0;
    Route route;
    std::array<Time, Route::max_hops> durations{};
  };
  struct Worker {
    Time time = 0;
    Programs::Cursor next;
    std::uint32_t requests = 0;
    std::vector<Channel> channels;
    std::vector<std::uint32_t> leaving;  // messages in the order of sending, of which an older one has no departure yet
    std::vector<std::uint32_t> coming;   // messages that have left their senders
    LastRoute way_out, way_in;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
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
  Time cross(const LastRoute& way, int hop, Message& message);
  const LastRoute& find_way(LastRoute& way, int peer, const Message& message);
  void note_request(int rank, std::uint32_t id, bool receiving);
  void free_if_over(std::uint32_t id);

  const Programs& programs_;
  const Topology& topology_;
  const Resources& resources_;
  std::int64_t eager_bytes_;
  Time send_overhead_, receive_overhead_;
  bool handshake_;
  Time least_latency_;
  InverseBandwidth copy_;
  std::function<Time(std::uint32_t)> sum_time_;
  Timetable timetable_;
  std::uint32_t last_sum_floats_ = none;
  Time last_sum_time_ = 0;

  int size_ = 0;
  std::uint32_t request_mask_ = 0;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> requests_;  // [workers][request_mask_ + 1]: 2 * message + 1 for the receiver's
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;
  std::vector<int> ready_;  // workers that can go on; the last one first: its neighbours' data is at hand
  Time quiet_from_ = 0;
  bool failed_ = false;
};

}  // namespace paragrad::sim::shortcut
