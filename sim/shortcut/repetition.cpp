#include "sim/shortcut/repetition.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace paragrad::sim::shortcut {
namespace {

/// The only peer a worker communicates with in a piece of its program, as a distance; 0: none or several.
int partner(const CollectivePrograms::Cursor& program) {
  int only = 0;
  for (const Operation& operation : program.piece()) {
    const int peer = operation.peer();
    if (peer == 0 || peer == only) continue;
    if (only != 0) return 0;
    only = peer;
  }
  return only;
}

/// The largest age, counted in requests, of a request that a piece waits for.
std::uint32_t oldest_request(const CollectivePrograms::Cursor& program) {
  std::uint32_t oldest = 0;
  for (const Operation& operation : program.piece())
    if (operation.kind() == Operation::Kind::wait) oldest = std::max(oldest, operation.value);
  return oldest;
}

/// Bytes of one of a piece's messages; 0: there are none.
std::uint32_t bytes_sent(const CollectivePrograms::Cursor& program) {
  for (const Operation& operation : program.piece())
    if (operation.kind() == Operation::Kind::send) return operation.value;
  return 0;
}

std::array<Time*, 7> times_of(Message& m) {
  return {&m.sent_at, &m.wanted_at, &m.departs_at, &m.head, &m.tail, &m.released_at, &m.arrives_at};
}

bool is_known(Time time) { return time != 0 && time != never; }

}  // namespace

void Repetition::look_at(int rank) {
  const int size = static_cast<int>(state_.workers.size());
  const int distance = partner(worker(rank).next);
  const int peer = (rank + distance) % size;
  if (distance == 0 || peer < rank) return;
  const CollectivePrograms::Cursor &one = worker(rank).next, &other = worker(peer).next;
  if (other.at_end() || other.times_left() < 2 || partner(other) != size - distance) return;
  now_.rank = rank, now_.peer = peer;
  now_.taken_at = worker(rank).time;
  now_.runs[0] = &one.run(), now_.runs[1] = &other.run();
  now_.times_left[0] = one.times_left(), now_.times_left[1] = other.times_left();
  if (!describe()) {
    last_.rank = -1;
  } else if (now_.follows(last_)) {
    const Time period = now_.taken_at - last_.taken_at;
    move_on(before_others(std::min(one.times_left(), other.times_left()) - 1, period), period);
    last_.rank = -1;
  } else {
    std::swap(last_, now_);
  }
}

bool Repetition::Picture::follows(const Picture& earlier) const {
  return rank == earlier.rank && peer == earlier.peer && std::ranges::equal(runs, earlier.runs) &&
         times_left[0] + 1 == earlier.times_left[0] && times_left[1] + 1 == earlier.times_left[1] &&
         content == earlier.content;
}

bool Repetition::describe() {
  now_.content.clear();
  now_.busy.clear();
  messages_.clear();
  resources_.clear();
  until_ = never;
  latest_ = now_.taken_at;
  const auto [rank, peer] = std::pair(now_.rank, now_.peer);
  return describe(rank, peer) && describe(peer, rank) && describe_way(rank, peer) && describe_way(peer, rank);
}

bool Repetition::describe(int rank, int peer) {
  const Worker& one = worker(rank);
  std::vector<Time>& content = now_.content;
  note(one.time);
  content.push_back(one.next.position());
  for (const Channel& channel : one.channels) {
    if (channel.from != peer) continue;  // for later
    content.push_back(channel.tag);
    for (std::uint32_t id = channel.first; id != none; id = state_.messages[id].next) describe_message(id);
  }
  content.push_back(-1);
  for (const std::uint32_t id : one.leaving) {
    if (state_.messages[id].to != peer) return false;
    describe_message(id);
  }
  content.push_back(-1);
  for (const std::uint32_t id : one.coming) {
    if (state_.messages[id].from == peer)
      describe_message(id);
    else
      until_ = std::min(until_, state_.messages[id].head);
  }
  content.push_back(-1);
  const std::uint32_t oldest = oldest_request(one.next);
  for (std::uint32_t age = 1; age <= oldest; ++age) {
    const std::uint32_t request = state_.request(rank, age);
    content.push_back(request == none ? -1 : request % 2);
    if (request != none) describe_message(request / 2);
  }
  return true;
}

/// A message to or from another worker counts as unchanged.
void Repetition::describe_message(std::uint32_t id) {
  Message& m = state_.messages[id];
  const bool ours = (m.from == now_.rank && m.to == now_.peer) || (m.from == now_.peer && m.to == now_.rank);
  const auto known = std::ranges::find(messages_, id);
  now_.content.push_back(ours ? known - messages_.begin() : -1);
  if (!ours || known != messages_.end()) return;
  messages_.push_back(id);
  std::int64_t flags = 0;
  for (const bool flag : {m.eager, m.sent, m.wanted, m.sender_waits, m.receiver_waits, m.send_over, m.receive_over})
    flags = 2 * flags + (flag ? 1 : 0);
  now_.content.insert(now_.content.end(), {m.from, m.tag, m.bytes, flags, m.origin.sender, m.origin.setter});
  for (const Time* time : times_of(m)) note(*time);
}

bool Repetition::describe_way(int from, int to) {
  const std::uint32_t bytes = bytes_sent(worker(from).next);
  if (bytes == 0) return true;
  const Route& route = routes_.find(from, to, bytes).route;
  return std::all_of(route.path.begin(), route.path.begin() + route.hops, [this](auto id) { return describe_resource(id); });
}

bool Repetition::describe_resource(Resources::Id resource) {
  if (std::ranges::find(resources_, resource) != resources_.end()) return true;
  resources_.push_back(resource);
  now_.busy.push_back(state_.timetable.busy(resource));
  const std::size_t begin = now_.content.size();
  const auto one = static_cast<std::uint32_t>(now_.rank), other = static_cast<std::uint32_t>(now_.peer);
  if (!state_.timetable.last_uses(resource, one, other, now_.content)) return false;
  for (std::size_t i = begin; i < now_.content.size(); ++i) {
    latest_ = std::max(latest_, now_.content[i]);
    now_.content[i] -= now_.taken_at;
  }
  now_.content.push_back(-1);
  return true;
}

/// How many of `periods` periods, of length `period` each, to skip before another worker's message uses the route.
Time Repetition::before_others(Time periods, Time period) const {
  const Time room = until_ - latest_ - period;
  return room <= 0 ? 0 : std::min(periods, room / std::max<Time>(period, 1));
}

void Repetition::note(Time time) {
  if (is_known(time)) latest_ = std::max(latest_, time);
  now_.content.push_back(is_known(time) ? time - now_.taken_at : time);
}

void Repetition::move_on(Time periods, Time period) {
  const Time later = periods * period;
  left_out_ += static_cast<std::uint64_t>(periods);
  for (const int rank : {now_.rank, now_.peer}) {
    worker(rank).time += later;
    worker(rank).next.leave_out(static_cast<std::uint32_t>(periods));
  }
  for (const std::uint32_t id : messages_) {
    for (Time* time : times_of(state_.messages[id]))
      if (is_known(*time)) *time += later;
  }
  for (std::size_t i = 0; i < resources_.size(); ++i)
    state_.timetable.repeat_last_uses(resources_[i], later, periods * (now_.busy[i] - last_.busy[i]));
}

}  // namespace paragrad::sim::shortcut
