#include "sim/messages/mailboxes.hpp"

#include <algorithm>
#include <utility>

#include "comm/communicator.hpp"

namespace paragrad::sim {
namespace {

Channel channel_of(const Send& send) { return {send.to, send.from, send.tag}; }
Channel channel_of(const Receive& receive) { return {receive.rank, receive.from, receive.tag}; }

template <class T>
void append(Pool<T>& pool, Id& first, Id& last, Id T::*next, Id id) {
  (first == no_id ? first : pool[last].*next) = id;
  last = id;
}

}  // namespace

Id Mailboxes::post_send(Id id) {
  Send& send = sends[id];
  Queues* queues = channels_.find(channel_of(send));
  if (queues != nullptr && queues->first_receive != no_id && !contested(receives[queues->first_receive])) {
    const Id receive = queues->first_receive;
    take_receive(receive);
    return receive;
  }
  add_send(id);
  return no_id;
}

Id Mailboxes::post_receive(Id id) {
  const Receive& receive = receives[id];
  if (receive.from != comm::any_source && !any_source_waits(receive.rank, receive.tag)) {
    Queues* queues = channels_.find(channel_of(receive));
    if (queues != nullptr && queues->first_send != no_id) {
      const Id send = queues->first_send;
      take_send(send);
      return send;
    }
  }
  add_receive(id);
  return no_id;
}

bool Mailboxes::any_source_waits(int rank, int tag) const {
  const Box& box = this->box(rank);
  if (box.any_source == 0) return false;
  for (Id id = box.receives.first; id != no_id; id = receives[id].neighbours.next)
    if (receives[id].from == comm::any_source && receives[id].tag == tag) return true;
  return false;
}

/// Whether an older receive from any source waits for messages of the same tag.
bool Mailboxes::contested(const Receive& receive) const {
  if (box(receive.rank).any_source == 0) return false;
  for (Id id = receive.neighbours.previous; id != no_id; id = receives[id].neighbours.previous)
    if (receives[id].from == comm::any_source && receives[id].tag == receive.tag) return true;
  return false;
}

std::vector<Mailboxes::Match> Mailboxes::match_any(int rank, Time now) {
  std::vector<Match> matches;
  std::vector<int> contested_tags;
  Id next = no_id;
  for (Id id = box(rank).receives.first; id != no_id; id = next) {
    const Receive& receive = receives[id];
    next = receive.neighbours.next;
    if (std::find(contested_tags.begin(), contested_tags.end(), receive.tag) != contested_tags.end()) continue;
    Id send = no_id;
    if (receive.from == comm::any_source) {
      send = first_visible(box(rank), receive.tag, now);
      if (send == no_id) contested_tags.push_back(receive.tag);
    } else if (const Queues* queues = channels_.find(channel_of(receive))) {
      send = queues->first_send;
    }
    if (send == no_id) continue;
    take_receive(id);
    take_send(send);
    matches.push_back({send, id});
  }
  return matches;
}

Id Mailboxes::first_visible(const Box& box, int tag, Time now) const {
  Id best = no_id;
  std::vector<int> seen;  // sources whose oldest message with this tag has been looked at: later ones may not overtake it
  for (Id id = box.sends.first; id != no_id; id = sends[id].neighbours.next) {
    const Send& send = sends[id];
    if (send.tag != tag || std::find(seen.begin(), seen.end(), send.from) != seen.end()) continue;
    seen.push_back(send.from);
    if (send.visible_at > now) continue;
    if (best == no_id || std::pair(send.visible_at, send.from) < std::pair(sends[best].visible_at, sends[best].from))
      best = id;
  }
  return best;
}

template <class T>
void Mailboxes::link(Pool<T>& pool, List& list, Id id) {
  pool[id].neighbours = {list.last, no_id};
  (list.last == no_id ? list.first : pool[list.last].neighbours.next) = id;
  list.last = id;
}

template <class T>
void Mailboxes::unlink(Pool<T>& pool, List& list, Id id) {
  const Neighbours around = pool[id].neighbours;
  (around.previous == no_id ? list.first : pool[around.previous].neighbours.next) = around.next;
  (around.next == no_id ? list.last : pool[around.next].neighbours.previous) = around.previous;
}

void Mailboxes::add_send(Id id) {
  Send& send = sends[id];
  link(sends, box(send.to).sends, id);
  Queues& queues = channels_.at(channel_of(send));
  append(sends, queues.first_send, queues.last_send, &Send::next_in_channel, id);
}

void Mailboxes::add_receive(Id id) {
  Receive& receive = receives[id];
  Box& box = this->box(receive.rank);
  link(receives, box.receives, id);
  if (receive.from == comm::any_source) {
    ++box.any_source;
    ++any_source_;
    return;
  }
  Queues& queues = channels_.at(channel_of(receive));
  append(receives, queues.first_receive, queues.last_receive, &Receive::next_in_channel, id);
}

// What is taken is the first of its channel: messages do not overtake, and receives of one channel are served in order.
void Mailboxes::take_send(Id id) {
  Send& send = sends[id];
  unlink(sends, box(send.to).sends, id);
  Queues& queues = *channels_.find(channel_of(send));
  queues.first_send = std::exchange(send.next_in_channel, no_id);
  if (queues.empty()) channels_.remove(channel_of(send));
}

void Mailboxes::take_receive(Id id) {
  Receive& receive = receives[id];
  Box& box = this->box(receive.rank);
  unlink(receives, box.receives, id);
  if (receive.from == comm::any_source) {
    --box.any_source;
    --any_source_;
    return;
  }
  Queues& queues = *channels_.find(channel_of(receive));
  queues.first_receive = std::exchange(receive.next_in_channel, no_id);
  if (queues.empty()) channels_.remove(channel_of(receive));
}

}  // namespace paragrad::sim
