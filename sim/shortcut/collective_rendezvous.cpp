#include "sim/shortcut/collective_rendezvous.hpp"

#include <algorithm>
#include <future>
#include <ranges>
#include <utility>

#include "core/range.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "sim/shortcut/time_recurrence.hpp"

namespace paragrad::sim {

CollectiveRendezvous::CollectiveRendezvous(const MessageContext& context, int host_threads,
                                           std::function<bool()> network_is_idle)
    : context_(context),
      host_threads_(static_cast<std::size_t>(host_threads)),
      network_is_idle_(std::move(network_is_idle)),
      calls_(static_cast<std::size_t>(context.workers)) {}

bool CollectiveRendezvous::join(comm::Communicator& comm, const comm::Collective& collective, std::span<float> data) {
  if (!enabled_ || data.empty() || context_.workers == 1) return false;
  context_.engine.release_unused_stack();
  context_.engine.settle();
  const std::uint64_t call = ++calls_[static_cast<std::size_t>(comm.rank())];
  if (call <= message_by_message_) return false;
  if (members_.empty() && !network_is_idle_()) {
    message_by_message_ = call;
    return false;
  }
  Member member{&comm, &collective, data, &context_.engine.current(), context_.engine.now()};
  members_.push_back(&member);
  if (members_.size() < calls_.size()) {
    context_.engine.block({"the other workers in a collective of", comm.rank()});
  } else if (enabled_ && all_at_once()) {
    members_.clear();
    ++shortcuts_;
  } else {
    dissolve_and_wait();
  }
  return member.done;
}

struct CollectiveRendezvous::Notes {
  std::span<Member* const> members;  // next to each other in rank
  shortcut::Recorder::TimeOf time_of;
  shortcut::CollectivePrograms programs{};
  bool possible = true;
  std::uint32_t oldest_request = 1;
  std::vector<std::uint64_t> received_bytes{};  // by each worker, from these members

  void take() {
    received_bytes.resize(static_cast<std::size_t>(members.front()->comm->size()));
    for (Member* member : members) {
      shortcut::Recorder recorder(*member->comm, programs, received_bytes, time_of);
      (*member->collective)(recorder, member->data);
      programs.end_worker();
      possible &= recorder.possible();
      oldest_request = std::max(oldest_request, recorder.oldest_request());
      member->sent = recorder.traffic();
      if (!possible) return;
    }
  }
};

std::vector<CollectiveRendezvous::Notes> CollectiveRendezvous::take_notes() const {
  constexpr std::size_t worth_a_thread = 1000;  // workers
  const std::size_t parts = std::clamp<std::size_t>(members_.size() / worth_a_thread, 1, host_threads_);
  std::vector<Notes> notes;
  for (std::size_t part = 0; part < parts; ++part)
    notes.push_back({core::part_of(members_.size(), parts, part).of(std::span<Member* const>(members_)),
                     [this](const backend::WorkMeter& work) { return context_.times.of_collective(work); }});
  std::vector<std::future<void>> others;
  for (Notes& of_some : notes | std::views::drop(1))
    others.push_back(std::async(std::launch::async, [&of_some] { of_some.take(); }));
  notes.front().take();
  for (std::future<void>& other : others) other.get();
  return notes;
}

bool CollectiveRendezvous::all_at_once() {
  std::sort(members_.begin(), members_.end(),
            [](const Member* a, const Member* b) { return a->comm->rank() < b->comm->rank(); });
  const std::vector<Notes> notes = take_notes();
  if (!std::ranges::all_of(notes, &Notes::possible)) return false;
  std::vector<shortcut::TimeRecurrence::Start> starts;
  std::uint32_t oldest_request = 1;
  for (const Notes& of_some : notes) {
    for (std::size_t i = 0; i < of_some.members.size(); ++i)
      starts.push_back({of_some.members[i]->arrival, of_some.programs.start(i)});
    oldest_request = std::max(oldest_request, of_some.oldest_request);
  }
  const Network::Insight insight = context_.network.insight();
  shortcut::TimeRecurrence replay(*insight.topology, *insight.resources, context_.platform.message,
                                  [this](std::uint32_t floats) { return context_.times.of_sum(floats); });
  if (!replay.run(starts, oldest_request)) return false;
  const Time first_end = [&] {
    Time first = never;
    for (int rank = 0; rank < context_.workers; ++rank) first = std::min(first, replay.end(rank));
    return first;
  }();
  // A worker's later actions must not precede any of the precomputed ones.
  if (first_end < replay.quiet_from() || first_end < context_.engine.now()) return false;
  replay.commit(*insight.resources);
  left_out_ += replay.left_out();
  for (Member* member : members_) {
    member->done = true;
    comm::TrafficMeter& meter = context_.traffic_of(member->comm->rank());
    meter.sent(member->sent.sent_bytes, member->sent.messages);
    for (const Notes& of_some : notes)
      meter.received(of_some.received_bytes[static_cast<std::size_t>(member->comm->rank())]);
    const Time end = replay.end(member->comm->rank());
    if (member->fiber == &context_.engine.current())
      context_.engine.pass_until(end);
    else
      context_.engine.wake_at(*member->fiber, end);
  }
  return true;
}

bool CollectiveRendezvous::nobody_else_comes() {
  if (members_.empty()) return false;
  dissolve(nullptr);
  return true;
}

/// Wakes all members except `running`.
void CollectiveRendezvous::dissolve(const Fiber* running) {
  Time first = never;
  for (const Member* member : members_) {
    first = std::min(first, member->arrival);
    message_by_message_ = std::max(message_by_message_, calls_[static_cast<std::size_t>(member->comm->rank())]);
  }
  context_.engine.go_back_to(first);
  for (const Member* member : members_)
    if (member->fiber != running) context_.engine.wake_at(*member->fiber, member->arrival);
  members_.clear();
}

void CollectiveRendezvous::dissolve_and_wait() {
  const Time now = context_.engine.now();
  dissolve(&context_.engine.current());
  context_.engine.sleep_until(now);
}

}  // namespace paragrad::sim
