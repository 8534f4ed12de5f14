#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "comm/membership.hpp"

namespace paragrad::comm {

/// A process of this node; an id alone is ambiguous, as ids are reused.
struct ProcessIdentity {
  std::int64_t id = 0;
  std::int64_t started_at = 0;  ///< in the kernel's clock ticks
};

ProcessIdentity this_process();
bool lives(const ProcessIdentity& process);

/// Which workers are known to have ended prematurely. Used by all threads of a rank.
class Peers : public Membership {
 public:
  explicit Peers(int workers) : processes_(static_cast<std::size_t>(workers)), gone_(static_cast<std::size_t>(workers)) {}

  /// Registers the process of a worker, if it is visible from here. Call before other threads ask.
  void introduce(int worker, const ProcessIdentity& process) {
    if (lives(process)) processes_[static_cast<std::size_t>(worker)] = process;
  }

  void take_for_gone(int worker) override { gone_.at(static_cast<std::size_t>(worker)) = true; }

  /// Checks the worker's process, which takes some microseconds.
  bool is_gone(int worker) override;

  bool somebody_is_gone();

  /// Whether a worker that was treated as gone still has a running process.
  bool somebody_lives_on() const;

  /// Kills these processes, and resumes the processes that wait for them (RankGuard) if they were stopped too.
  void kill_left_out() const;

  /// The result of earlier checks only.
  bool was_seen_gone(int worker) const {
    const auto index = static_cast<std::size_t>(worker);
    return index < gone_.size() && gone_[index];  // MPI itself reports a worker that does not exist
  }
  bool somebody_was_seen_gone() const;

  void set_expendable(bool expendable) override {
    if (when_expendable_) when_expendable_(expendable);
  }
  /// Called with what set_expendable is told.
  void when_expendable(std::function<void(bool)> action) { when_expendable_ = std::move(action); }

 private:
  std::vector<ProcessIdentity> processes_;  // id 0: not visible from here
  std::vector<std::atomic<bool>> gone_;
  std::function<void(bool)> when_expendable_;
};

}  // namespace paragrad::comm
