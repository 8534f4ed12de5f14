#include "sim/shortcut/replay.hpp"

#include <algorithm>
#include <bit>

namespace paragrad::sim::shortcut {
Replay::Replay(const Programs& programs, const Topology& topology, const Resources& resources,
               const Platform::Message& costs, std::function<Time(std::uint32_t)> sum_time)
    : programs_(programs),
      topology_(topology),
      resources_(resources),
      eager_bytes_(costs.eager_bytes),
      send_overhead_(from_seconds(costs.send_overhead_s)),
      receive_overhead_(from_seconds(costs.receive_overhead_s)),
      handshake_(costs.handshake),
      least_latency_(topology.least_latency()),
      sum_time_(std::move(sum_time)),
      timetable_(resources) {
  if (costs.copy_bytes_per_s > 0) copy_ = InverseBandwidth(costs.copy_bytes_per_s);
}

bool Replay::run(const std::vector<Time>& begins) {
  size_ = static_cast<int>(begins.size());
  if (programs_.oldest_request() > most_requests) return false;
  const std::uint32_t window = std::bit_ceil(programs_.oldest_request());
  request_mask_ = window - 1;
  requests_.resize(begins.size() * window);
  workers_.resize(begins.size());
  for (int rank = size_ - 1; rank >= 0; --rank) {
    workers_[static_cast<std::size_t>(rank)].time = begins[static_cast<std::size_t>(rank)];
    workers_[static_cast<std::size_t>(rank)].next = programs_.start(rank);
    ready_.push_back(rank);
  }
  do {
    while (!ready_.empty() && !failed_) {
      const int rank = ready_.back();
      ready_.pop_back();
      go_on(rank);
      failed_ |= timetable_.failed();
    }
  } while (!failed_ && hurry());
  const auto ended = [](const Worker& worker) { return worker.next.at_end(); };
  return !failed_ && std::all_of(workers_.begin(), workers_.end(), ended);
}

void Replay::go_on(int rank) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  while (!worker.next.at_end() && step(rank, *worker.next)) programs_.advance(worker.next);
}

/// False: it has to wait for somebody.
bool Replay::step(int rank, const Operation& operation) {
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
      workers_[static_cast<std::size_t>(rank)].time += last_sum_time_;
  }
  return true;
}

void Replay::send(int rank, int to, const Operation& operation) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  const bool eager = operation.value <= eager_bytes_;
  worker.time += send_overhead_ + (eager ? copy_.time_of(operation.value) : 0);
  const std::uint32_t id = match(rank, to, operation.tag(), true);
  Message& message = messages_[id];
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

void Replay::receive(int rank, int from, const Operation& operation) {
  const std::uint32_t id = match(from, rank, operation.tag(), false);
  Message& message = messages_[id];
  message.wanted = true;
  message.wanted_at = workers_[static_cast<std::size_t>(rank)].time;
  note_request(rank, id, true);
  if (message.sent && !message.eager) matched(message);
}

/// Of one that is not eager.
void Replay::matched(Message& message) {
  message.departs_at = std::max(message.sent_at, message.wanted_at);
  if (handshake_) {
    const Time latency = topology_.latency(message.from, message.to);
    message.departs_at = std::max(message.departs_at, message.sent_at + latency) + latency;
  }
  leave(workers_[static_cast<std::size_t>(message.from)]);
}

/// A worker's messages set out in the order of sending, so that each finds what the older ones have taken.
void Replay::leave(Worker& sender) {
  std::size_t gone = 0;
  for (; gone < sender.leaving.size() && messages_[sender.leaving[gone]].departs_at != never; ++gone)
    set_out(messages_[sender.leaving[gone]], false);
  sender.leaving.erase(sender.leaving.begin(), sender.leaving.begin() + static_cast<std::ptrdiff_t>(gone));
}

/// Nobody can go on: perhaps for messages that wait for an older one to set out. False if there are none.
bool Replay::hurry() {
  for (Worker& sender : workers_)
    std::erase_if(sender.leaving, [this](std::uint32_t id) {
      const bool can_leave = messages_[id].departs_at != never;
      if (can_leave) set_out(messages_[id], true);
      return can_leave;
    });
  return !ready_.empty();
}

// A message's way, as Pipeline goes it, in two parts: up to the wire when it sets out, the rest when its receiver wants it,
// in the order in which messages come to that receiver.
void Replay::set_out(Message& message, bool ahead) {
  const LastRoute& way = find_way(workers_[static_cast<std::size_t>(message.from)].way_out, message.to, message);
  const bool own = message.eager || message.sent_at > message.wanted_at;
  message.origin = {static_cast<std::uint32_t>(message.from), static_cast<std::uint32_t>(own ? message.from : message.to)};
  if (ahead) message.origin.setter = Timetable::Origin::nobody;
  message.head = message.departs_at;
  for (int hop = 0; hop <= way.route.wire; ++hop) {
    const Time end = cross(way, hop, message);
    if (hop == 0 && !message.eager) message.released_at = end;
  }
  workers_[static_cast<std::size_t>(message.to)].coming.push_back(static_cast<std::uint32_t>(&message - messages_.data()));
  if (message.sender_waits) ready_.push_back(message.from);
  if (message.receiver_waits) ready_.push_back(message.to);
  message.sender_waits = message.receiver_waits = false;
}

void Replay::come_in(Worker& receiver, std::uint32_t id) {
  while (messages_[id].arrives_at == never) {
    const auto first = std::min_element(receiver.coming.begin(), receiver.coming.end(),
                                        [this](auto a, auto b) { return messages_[a].head < messages_[b].head; });
    come_in(messages_[*first]);
    receiver.coming.erase(first);
  }
}

void Replay::come_in(Message& message) {
  const LastRoute& way = find_way(workers_[static_cast<std::size_t>(message.to)].way_in, message.from, message);
  for (int hop = way.route.wire + 1; hop < way.route.hops; ++hop) cross(way, hop, message);
  message.arrives_at = message.tail;
}

/// Returns when the resource has taken all of it.
Time Replay::cross(const LastRoute& way, int hop, Message& message) {
  // The first hop is the sender's own. What is behind the wire others reach a latency after they have begun.
  if (hop > 0) quiet_from_ = std::max(quiet_from_, message.head + 1 - (hop > way.route.wire ? least_latency_ : 0));
  const Time duration = way.durations[static_cast<std::size_t>(hop)];
  const Time latency = hop == way.route.wire ? way.route.latency : 0;
  const Time begin = timetable_.take(way.route.path[static_cast<std::size_t>(hop)], message.head, duration, message.origin);
  message.tail = std::max(begin + duration, message.tail) + latency;
  message.head = begin + latency;
  return begin + duration;
}

const Replay::LastRoute& Replay::find_way(LastRoute& way, int peer, const Message& message) {
  if (way.peer == peer && way.bytes == message.bytes) return way;
  way.peer = peer;
  way.bytes = message.bytes;
  way.route = topology_.route(message.from, message.to, message.bytes);
  for (int hop = 0; hop < way.route.hops; ++hop) {
    const Resources::Id id = way.route.path[static_cast<std::size_t>(hop)];
    failed_ |= !resources_.simple(id);
    const bool at_device = hop == 0 || hop + 1 == way.route.hops;
    way.durations[static_cast<std::size_t>(hop)] =
        std::max(resources_.duration(id, way.route.bytes), at_device ? way.route.at_least : 0);
  }
  return way;
}

bool Replay::wait(int rank, const Operation& operation) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  const std::uint32_t number = worker.requests - operation.value;
  const std::uint32_t request = requests_[static_cast<std::size_t>(rank) * (request_mask_ + 1) + (number & request_mask_)];
  return request % 2 == 0 ? wait_for_send(worker, request / 2) : wait_for_receive(worker, request / 2);
}

bool Replay::wait_for_send(Worker& worker, std::uint32_t id) {
  Message& message = messages_[id];
  if (message.released_at == never) {
    message.sender_waits = true;
    return false;
  }
  worker.time = std::max(worker.time, message.released_at);
  message.send_over = true;
  free_if_over(id);
  return true;
}

bool Replay::wait_for_receive(Worker& worker, std::uint32_t id) {
  Message& message = messages_[id];
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
std::uint32_t Replay::match(int from, int to, std::uint32_t tag, bool sending) {
  std::vector<Channel>& channels = workers_[static_cast<std::size_t>(to)].channels;
  auto channel = std::find_if(channels.begin(), channels.end(),
                              [&](const Channel& open) { return open.from == from && open.tag == tag; });
  if (channel != channels.end() && messages_[channel->first].sent != sending) {
    const std::uint32_t id = channel->first;
    channel->first = messages_[id].next;
    if (channel->first == none) {
      *channel = channels.back();
      channels.pop_back();
    }
    return id;
  }
  std::uint32_t id = static_cast<std::uint32_t>(messages_.size());
  if (unused_.empty()) {
    messages_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  messages_[id] = {.from = from, .to = to, .tag = tag};
  if (channel != channels.end()) {
    messages_[channel->last].next = id;
    channel->last = id;
  } else {
    channels.push_back({from, tag, id, id});
    failed_ |= channels.size() > most_channels;
  }
  return id;
}

void Replay::note_request(int rank, std::uint32_t id, bool receiving) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  requests_[static_cast<std::size_t>(rank) * (request_mask_ + 1) + (worker.requests++ & request_mask_)] =
      2 * id + (receiving ? 1 : 0);
}

void Replay::free_if_over(std::uint32_t id) {
  if (messages_[id].send_over && messages_[id].receive_over) unused_.push_back(id);
}

}  // namespace paragrad::sim::shortcut
