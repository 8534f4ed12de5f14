#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace paragrad::comm {

/// A process of this node; ids alone are used again.
struct ProcessIdentity {
  std::int64_t id = 0;
  std::int64_t started_at = 0;  ///< in the kernel's clock ticks
};

ProcessIdentity this_process();
bool lives(const ProcessIdentity& process);

/// Which workers are known to have ended before their time. Used by all threads of a rank.
class Peers {
 public:
  explicit Peers(int workers) : processes_(static_cast<std::size_t>(workers)), gone_(static_cast<std::size_t>(workers)) {}

  /// Before others ask: a worker whose process can be seen from here. Does nothing if it cannot.
  void introduce(int worker, const ProcessIdentity& process) {
    if (lives(process)) processes_[static_cast<std::size_t>(worker)] = process;
  }

  void take_for_gone(int worker) { gone_.at(static_cast<std::size_t>(worker)) = true; }

  /// Looks for its process, which takes some microseconds.
  bool is_gone(int worker);

  bool somebody_is_gone();

  /// Whether one that was taken for gone has a process, which others do not wait for.
  bool somebody_lives_on() const;

  /// Kills these processes, and wakes up what waits for them (RankGuard), if it was stopped too.
  void kill_left_out() const;

  /// By an earlier look.
  bool was_seen_gone(int worker) const {
    const auto index = static_cast<std::size_t>(worker);
    return index < gone_.size() && gone_[index];  // MPI has its own words for a worker that does not exist
  }
  bool somebody_was_seen_gone() const;

 private:
  std::vector<ProcessIdentity> processes_;  // id 0: cannot be seen
  std::vector<std::atomic<bool>> gone_;
};

}  // namespace paragrad::comm
