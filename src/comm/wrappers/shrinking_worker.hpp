#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "comm/wrappers/partial_worker.hpp"

namespace paragrad::comm {

/// Wraps a communicator without some of its workers; higher ranks are renumbered.
class ShrinkingCommunicator : public PartialCommunicator {
 public:
  explicit ShrinkingCommunicator(Communicator& all, std::vector<int> gone = {})
      : PartialCommunicator(all), gone_(std::move(gone)) {
    if (!gone_.empty()) renumber();
  }

  const std::vector<int>& selection() const { return gone_; }

  void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) override {
    if (!gone_.empty()) throw Failure("a library's collective cannot run without the workers that are gone");
    inner().library_routine(library, operation, send, data);
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
    set_position(from_inner(inner().rank()), inner().size() - static_cast<int>(gone_.size()));
    set_workers_per_node(0);
  }
  int to_inner(int rank) const override {
    for (const int gone : gone_) rank += gone <= rank ? 1 : 0;
    return rank;
  }
  int from_inner(int rank) const override {
    return rank - static_cast<int>(std::ranges::lower_bound(gone_, rank) - gone_.begin());
  }

  std::vector<int> gone_;  // ascending
};

/// A worker that can continue without some of its peers.
class ShrinkingWorker : public PartialWorker<ShrinkingCommunicator> {
 public:
  explicit ShrinkingWorker(Worker& all) : PartialWorker(std::make_unique<ShrinkingCommunicator>(all.comm()), all) {}

  /// All workers dropped so far, in ascending order.
  const std::vector<int>& left_out() const { return peers().selection(); }
};

}  // namespace paragrad::comm
