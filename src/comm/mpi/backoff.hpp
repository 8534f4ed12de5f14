#pragma once

#include <sched.h>

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
};

/// Pause between two polls.
class Backoff {
 public:
  explicit Backoff(Patience patience = {}) : yields_s_(patience.yields_s) {}

  double waited_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void pause() const {
    if (waited_s() < yields_s_)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  double yields_s_;
};

}  // namespace paragrad::comm
