#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/wrappers/forwarding_communicator.hpp"
#include "comm/wrappers/partial_worker.hpp"

namespace paragrad::comm {

/// Wraps a communicator without some of its workers; higher ranks are renumbered.
class ShrinkingCommunicator : public ForwardingCommunicator, private ForwardingMembership {
 public:
  explicit ShrinkingCommunicator(Communicator& all, std::vector<int> gone = {})
      : ForwardingCommunicator(all), ForwardingMembership(all.membership()), gone_(std::move(gone)) {
    set_membership(*this);
    if (!gone_.empty()) renumber();
  }

  const std::vector<int>& gone() const { return gone_; }

  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    return inner().start_send(to_inner(to), tag, data);
  }
  Request start_receive(int from, int tag, std::span<std::byte> data) override {
    return inner().start_receive(from == any_source ? any_source : to_inner(from), tag, data);
  }
  Received wait(Request request) override { return here(inner().wait(request)); }
  std::optional<Received> wait_for(Request request, double limit_s) override {
    const auto received = inner().wait_for(request, limit_s);
    if (!received) return std::nullopt;
    return here(*received);
  }
  void library_allreduce(Library library, std::span<float> data) override {
    if (!gone_.empty()) throw Failure("a library allreduce cannot run without the workers that are gone");
    inner().library_allreduce(library, data);
  }
  std::unique_ptr<Window> open_window(std::size_t floats, std::size_t counters) override {
    if (!gone_.empty()) throw Failure("windows cannot be opened without the workers that are gone");
    return inner().open_window(floats, counters);
  }

 private:
  void leave_out(int rank) override {
    if (std::ranges::find(gone_, rank) != gone_.end()) return;
    gone_.insert(std::ranges::upper_bound(gone_, rank), rank);
    renumber();
    tell_loss();
  }
  void renumber() {
    set_position(to_here(inner().rank()), inner().size() - static_cast<int>(gone_.size()));
    set_workers_per_node(0);
  }
  TrafficReport posted(int rank) const override { return inner().simulated_time()->posted(to_inner(rank)); }
  int to_inner(int rank) const override {
    for (const int gone : gone_) rank += gone <= rank ? 1 : 0;
    return rank;
  }
  int to_here(int rank) const { return rank - static_cast<int>(std::ranges::lower_bound(gone_, rank) - gone_.begin()); }
  Received here(const Received& received) const {
    return {received.source == any_source ? any_source : to_here(received.source), received.bytes};
  }

  std::vector<int> gone_;  // ascending
};

/// Base-from-member: constructed before the worker base that needs it.
struct HoldsShrinkingCommunicator {
  ShrinkingCommunicator shrinking;
};

/// A worker that can continue without some of its peers.
class ShrinkingWorker : private HoldsShrinkingCommunicator, public PartialWorker {
 public:
  explicit ShrinkingWorker(Worker& all)
      : HoldsShrinkingCommunicator{ShrinkingCommunicator(all.comm())}, PartialWorker(shrinking, all) {}

  /// All workers dropped so far, in ascending order.
  const std::vector<int>& left_out() const { return shrinking.gone(); }

 private:
  Task among_peers(Task task) const override {
    return [gone = shrinking.gone(), task = std::move(task)](Communicator& comm) {
      ShrinkingCommunicator left(comm, gone);
      task(left);
    };
  }
};

}  // namespace paragrad::comm
