#include "sim/shortcut/time_recurrence.hpp"

#include <algorithm>
#include <bit>

namespace paragrad::sim::shortcut {

TimeRecurrence::TimeRecurrence(const Topology& topology, const Resources& resources, const Platform::Message& costs,
                               std::function<Time(std::uint32_t)> sum_time)
    : topology_(topology),
      eager_bytes_(costs.eager_bytes),
      send_overhead_(from_seconds(costs.send_overhead_s)),
      receive_overhead_(from_seconds(costs.receive_overhead_s)),
      handshake_(costs.handshake),
      least_latency_(topology.least_latency()),
      sum_time_(std::move(sum_time)),
      routes_(topology, resources),
      state_(resources),
      repetition_(state_, routes_) {
  if (costs.copy_bytes_per_s > 0) copy_ = InverseBandwidth(costs.copy_bytes_per_s);
}

bool TimeRecurrence::run(const std::vector<Start>& starts, std::uint32_t oldest_request) {
  size_ = static_cast<int>(starts.size());
  if (oldest_request > most_requests) return false;
  state_.request_mask = std::bit_ceil(oldest_request) - 1;
  state_.requests.assign(starts.size() * (state_.request_mask + 1), none);
  state_.workers.resize(starts.size());
  for (int rank = size_ - 1; rank >= 0; --rank) {
    const Start& start = starts[static_cast<std::size_t>(rank)];
    state_.workers[static_cast<std::size_t>(rank)].time = start.at;
    state_.workers[static_cast<std::size_t>(rank)].next = start.program;
    ready_.push_back(rank);
  }
  do {
    while (!ready_.empty() && !failed_) {
      const int rank = ready_.back();
      ready_.pop_back();
      go_on(rank);
      failed_ |= state_.timetable.failed() || routes_.failed();
    }
  } while (!failed_ && hurry());
  const auto ended = [](const Worker& worker) { return worker.next.at_end(); };
  return !failed_ && std::all_of(state_.workers.begin(), state_.workers.end(), ended);
}

void TimeRecurrence::go_on(int rank) {
  Worker& worker = state_.workers[static_cast<std::size_t>(rank)];
  while (!worker.next.at_end() && step(rank, *worker.next)) {
    worker.next.advance();
    if (!worker.next.at_end() && worker.next.position() == 0) repetition_.leave_out(rank);
  }
}

/// False: the worker has to wait for another.
bool TimeRecurrence::step(int rank, const Operation& operation) {
  int peer = rank + operation.peer();
  if (peer >= size_) peer -= size_;
  switch (operation.kind()) {
    case Operation::Kind::send:
      send(rank, peer, operation);
      return true;
    case Operation::Kind::receive:
      receive(rank, peer, operation);
      return true;
    case Operation::Kind::wait:
      return wait(rank, operation);
    case Operation::Kind::add:
      if (operation.value != last_sum_floats_) last_sum_time_ = sum_time_(last_sum_floats_ = operation.value);
      state_.workers[static_cast<std::size_t>(rank)].time += last_sum_time_;
      return true;
    case Operation::Kind::compute:
      state_.workers[static_cast<std::size_t>(rank)].time += operation.value;
  }
  return true;
}

void TimeRecurrence::send(int rank, int to, const Operation& operation) {
  Worker& worker = state_.workers[static_cast<std::size_t>(rank)];
  const bool eager = operation.value <= eager_bytes_;
  worker.time += send_overhead_ + (eager ? copy_.time_of(operation.value) : 0);
  const std::uint32_t id = match(rank, to, operation.tag(), true);
  Message& message = state_.messages[id];
  message.bytes = operation.value;
  message.eager = eager;
  message.sent = true;
  message.sent_at = worker.time;
  note_request(rank, id, false);
  worker.leaving.push_back(id);
  if (eager) message.released_at = message.departs_at = worker.time;
  if (message.wanted && !eager) matched(message);
  if (eager) leave(worker);
}

void TimeRecurrence::receive(int rank, int from, const Operation& operation) {
  const std::uint32_t id = match(from, rank, operation.tag(), false);
  Message& message = state_.messages[id];
  message.wanted = true;
  message.wanted_at = state_.workers[static_cast<std::size_t>(rank)].time;
  note_request(rank, id, true);
  if (message.sent && !message.eager) matched(message);
}

/// For a rendezvous message.
void TimeRecurrence::matched(Message& message) {
  message.departs_at = std::max(message.sent_at, message.wanted_at);
  if (handshake_) {
    const Time latency = topology_.latency(message.from, message.to);
    message.departs_at = std::max(message.departs_at, message.sent_at + latency) + latency;
  }
  leave(state_.workers[static_cast<std::size_t>(message.from)]);
}

/// A worker's messages depart in send order, so that each finds the resources as the older ones left them.
void TimeRecurrence::leave(Worker& sender) {
  std::size_t gone = 0;
  for (; gone < sender.leaving.size() && state_.messages[sender.leaving[gone]].departs_at != never; ++gone)
    set_out(state_.messages[sender.leaving[gone]], false);
  sender.leaving.erase(sender.leaving.begin(), sender.leaving.begin() + static_cast<std::ptrdiff_t>(gone));
}

/// Called when no worker can continue, perhaps because messages wait for an older one to depart. False if there are none.
bool TimeRecurrence::hurry() {
  for (Worker& sender : state_.workers) {
    const auto sets_out = [this](std::uint32_t id) {
      const bool can_leave = state_.messages[id].departs_at != never;
      if (can_leave) set_out(state_.messages[id], true);
      return can_leave;
    };
    sender.leaving.erase(std::remove_if(sender.leaving.begin(), sender.leaving.end(), sets_out), sender.leaving.end());
  }
  return !ready_.empty();
}

// Follows a message's route as Pipeline does, in two parts: up to the wire when it departs, the rest when its receiver waits
// for it, in the order in which messages reach that receiver.
void TimeRecurrence::set_out(Message& message, bool ahead) {
  const CachedRoute& cached = routes_.find(message.from, message.to, message.bytes);
  const bool own = message.eager || message.sent_at > message.wanted_at;
  message.origin = {static_cast<std::uint32_t>(message.from), static_cast<std::uint32_t>(own ? message.from : message.to)};
  if (ahead) message.origin.setter = Timetable::Origin::nobody;
  message.head = message.departs_at;
  for (int hop = 0; hop <= cached.route.wire; ++hop) {
    const Time end = cross(cached, hop, message);
    if (hop == 0 && !message.eager) message.released_at = end;
  }
  state_.workers[static_cast<std::size_t>(message.to)].coming.push_back(
      static_cast<std::uint32_t>(&message - state_.messages.data()));
  if (message.sender_waits) ready_.push_back(message.from);
  if (message.receiver_waits) ready_.push_back(message.to);
  message.sender_waits = message.receiver_waits = false;
}

void TimeRecurrence::come_in(Worker& receiver, std::uint32_t id) {
  while (state_.messages[id].arrives_at == never) {
    const auto first = std::min_element(receiver.coming.begin(), receiver.coming.end(), [this](auto a, auto b) {
      return state_.messages[a].head < state_.messages[b].head;
    });
    come_in(state_.messages[*first]);
    receiver.coming.erase(first);
  }
}

void TimeRecurrence::come_in(Message& message) {
  const CachedRoute& cached = routes_.find(message.from, message.to, message.bytes);
  for (int hop = cached.route.wire + 1; hop < cached.route.hops; ++hop) cross(cached, hop, message);
  message.arrives_at = message.tail;
}

/// Returns when the resource has taken all of it.
Time TimeRecurrence::cross(const CachedRoute& cached, int hop, Message& message) {
  // The first hop is the sender's own. Other messages reach hops after the wire a latency after their start.
  if (hop > 0) quiet_from_ = std::max(quiet_from_, message.head + 1 - (hop > cached.route.wire ? least_latency_ : 0));
  const Time duration = cached.durations[static_cast<std::size_t>(hop)];
  const Time latency = hop == cached.route.wire ? cached.route.latency : 0;
  const Time begin =
      state_.timetable.take(cached.route.path[static_cast<std::size_t>(hop)], message.head, duration, message.origin);
  failed_ |= begin + duration >= never;  // the simulation of each message will say so
  message.tail = std::max(begin + duration, message.tail) + latency;
  message.head = begin + latency;
  return begin + duration;
}

bool TimeRecurrence::wait(int rank, const Operation& operation) {
  Worker& worker = state_.workers[static_cast<std::size_t>(rank)];
  std::uint32_t& request = state_.request(rank, operation.value);
  const bool over = request % 2 == 0 ? wait_for_send(worker, request / 2) : wait_for_receive(worker, request / 2);
  if (over) request = none;
  return over;
}

bool TimeRecurrence::wait_for_send(Worker& worker, std::uint32_t id) {
  Message& message = state_.messages[id];
  if (message.released_at == never) {
    message.sender_waits = true;
    return false;
  }
  worker.time = std::max(worker.time, message.released_at);
  message.send_over = true;
  free_if_over(id);
  return true;
}

bool TimeRecurrence::wait_for_receive(Worker& worker, std::uint32_t id) {
  Message& message = state_.messages[id];
  if (message.tail == 0) {
    message.receiver_waits = true;
    return false;
  }
  come_in(worker, id);
  const bool unexpected = message.eager && message.arrives_at < message.wanted_at;
  worker.time =
      std::max(worker.time, message.arrives_at) + receive_overhead_ + (unexpected ? copy_.time_of(message.bytes) : 0);
  message.receive_over = true;
  free_if_over(id);
  return true;
}

/// The message whose other side is posted already, oldest of its channel, or a new one that waits there.
std::uint32_t TimeRecurrence::match(int from, int to, std::uint32_t tag, bool sending) {
  auto& channels = state_.workers[static_cast<std::size_t>(to)].channels;
  auto channel = std::find_if(channels.begin(), channels.end(),
                              [&](const Channel& open) { return open.from == from && open.tag == tag; });
  if (channel != channels.end() && state_.messages[channel->first].sent != sending) {
    const std::uint32_t id = channel->first;
    channel->first = state_.messages[id].next;
    if (channel->first == none) {
      if (channel + 1 != channels.end()) *channel = channels.back();
      channels.pop_back();
    }
    return id;
  }
  std::uint32_t id = static_cast<std::uint32_t>(state_.messages.size());
  if (unused_.empty()) {
    state_.messages.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  state_.messages[id] = {.from = from, .to = to, .tag = tag};
  if (channel != channels.end()) {
    state_.messages[channel->last].next = id;
    channel->last = id;
  } else {
    channels.push_back({from, tag, id, id});
    failed_ |= channels.size() > most_channels;
  }
  return id;
}

void TimeRecurrence::note_request(int rank, std::uint32_t id, bool receiving) {
  ++state_.workers[static_cast<std::size_t>(rank)].requests;
  state_.request(rank, 1) = 2 * id + (receiving ? 1 : 0);
}

void TimeRecurrence::free_if_over(std::uint32_t id) {
  if (state_.messages[id].send_over && state_.messages[id].receive_over) unused_.push_back(id);
}

}  // namespace paragrad::sim::shortcut
