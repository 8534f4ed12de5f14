#include "sim/shortcut/gathering.hpp"

#include <algorithm>

#include "sim/engine/fiber.hpp"
#include "sim/shortcut/replay.hpp"
#include "sim/world.hpp"

namespace paragrad::sim {

Gathering::Gathering(World& world, bool enabled)
    : world_(world), enabled_(enabled), calls_(enabled ? static_cast<std::size_t>(world.workers) : 0) {}

bool Gathering::join(comm::Communicator& comm, const comm::Allreduce& allreduce, std::span<float> data) {
  if (!enabled_ || data.empty() || world_.workers == 1) return false;
  world_.engine.settle();
  const std::uint64_t call = ++calls_[static_cast<std::size_t>(comm.rank())];
  if (call <= message_by_message_) return false;
  if (members_.empty() && !world_.transport.idle()) {
    message_by_message_ = call;
    return false;
  }
  Member member{&comm, &allreduce, data, &world_.engine.current(), world_.engine.now()};
  members_.push_back(&member);
  if (members_.size() < calls_.size()) {
    world_.engine.block({"the allreduce of all workers, as", comm.rank()});
  } else if (enabled_ && all_at_once()) {
    members_.clear();
    ++shortcuts_;
  } else {
    dissolve_and_wait();
  }
  return member.done;
}

bool Gathering::all_at_once() {
  std::sort(members_.begin(), members_.end(),
            [](const Member* a, const Member* b) { return a->comm->rank() < b->comm->rank(); });
  shortcut::Programs programs;
  std::vector<Time> arrivals;
  std::uint64_t messages = 0, bytes = 0;
  for (const Member* member : members_) {
    shortcut::Recorder recorder(*member->comm, programs);
    member->allreduce->reduce(recorder, member->data);
    member->allreduce->gather(recorder, member->data);
    if (!recorder.possible()) return false;
    programs.end_worker();
    messages += recorder.messages();
    bytes += recorder.bytes();
    arrivals.push_back(member->arrival);
  }
  const Network::Insight insight = world_.network->insight();
  shortcut::Replay replay(programs, *insight.topology, *insight.resources, world_.platform.message,
                          [this](std::uint32_t floats) { return world_.time_of_sum(floats); });
  if (!replay.run(arrivals)) return false;
  const Time first_end = [&] {
    Time first = never;
    for (int rank = 0; rank < world_.workers; ++rank) first = std::min(first, replay.end(rank));
    return first;
  }();
  // What a worker does afterwards must not come before anything that has been foreseen.
  if (first_end < replay.quiet_from() || first_end < world_.engine.now()) return false;
  replay.commit(*insight.resources);
  world_.transport.count(messages, bytes);
  for (Member* member : members_) {
    member->done = true;
    const Time end = replay.end(member->comm->rank());
    if (member->fiber == &world_.engine.current())
      world_.engine.pass_until(end);
    else
      world_.engine.wake_at(*member->fiber, end);
  }
  return true;
}

bool Gathering::nobody_else_comes() {
  if (members_.empty()) return false;
  dissolve(nullptr);
  return true;
}

/// `running` sees to itself.
void Gathering::dissolve(const Fiber* running) {
  Time first = never;
  for (const Member* member : members_) {
    first = std::min(first, member->arrival);
    message_by_message_ = std::max(message_by_message_, calls_[static_cast<std::size_t>(member->comm->rank())]);
  }
  world_.engine.go_back_to(first);
  for (const Member* member : members_)
    if (member->fiber != running) world_.engine.wake_at(*member->fiber, member->arrival);
  members_.clear();
}

void Gathering::dissolve_and_wait() {
  const Time now = world_.engine.now();
  dissolve(&world_.engine.current());
  world_.engine.sleep_until(now);
}

}  // namespace paragrad::sim
