#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace paragrad::comm {

/// How long a rank waits actively. It spins, then yields its core between polls, then sleeps between them.
struct Patience {
  int polls = 2000;        ///< to spin, some 100 us
  double yields_s = 5e-3;  ///< into the wait it sleeps instead of yielding

  /// For oversubscribed cores, where a rank that spins keeps another from working. Data-parallel training with 4 ranks on 2
  /// cores, dominated by allreduces, took 0.85 of the time with it, and about half on a machine that was busy otherwise.
  static Patience of_sharers() { return {.polls = 200, .yields_s = 2e-4}; }

  /// Sleeps at once.
  static Patience none() { return {.polls = 0, .yields_s = 0}; }
};

/// Whether other programs want this thread's core, as its waits have shown. Next to them, a thread that spins or yields
/// uses up its share of the core while it waits, and is not scheduled when its message arrives; one that sleeps is. A
/// yield that lasts as long as another program's time slice shows it; then the thread sleeps in all its waits for a while.
/// Two ranks among a dozen busy processes on two cores trained 1.5 times as fast with it (data_parallel, small network).
///
/// Belongs to one thread.
class Competition {
 public:
  using Clock = std::chrono::steady_clock;

  /// The patience that is left of `usual`.
  Patience left_of(Patience usual) const { return Clock::now() < until_ ? Patience::none() : usual; }

  /// Yields the core. Whether another program has used it.
  bool yield() {
    const auto begin = Clock::now();
    sched_yield();
    const auto end = Clock::now();
    if (end - begin < shortest_slice) return false;
    // Seen again soon after the last time was over: it lasts.
    memory_ = end < until_ + memory_ ? std::min(2 * memory_, longest_memory) : shortest_memory;
    until_ = end + memory_;
    return true;
  }

 private:
  static constexpr Clock::duration shortest_slice = std::chrono::microseconds(300);  // the kernel's own threads take less
  static constexpr Clock::duration shortest_memory = std::chrono::milliseconds(50), longest_memory = std::chrono::seconds(1);

  Clock::time_point until_ = Clock::time_point::min();
  Clock::duration memory_ = shortest_memory;
};

/// Pause between two polls of a wait.
class Backoff {
 public:
  explicit Backoff(Competition& competition, Patience patience = {})
      : competition_(&competition), yields_s_(competition.left_of(patience).yields_s) {}

  double waited_s() const { return std::chrono::duration<double>(Competition::Clock::now() - begin_).count(); }

  void pause() {
    if (waited_s() < yields_s_) {
      if (competition_->yield()) yields_s_ = 0;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  Competition* competition_;
  Competition::Clock::time_point begin_ = Competition::Clock::now();
  double yields_s_;
};

}  // namespace paragrad::comm
