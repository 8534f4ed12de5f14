#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace paragrad::comm {

/// How a rank waits: it polls, then yields its core between two polls, then sleeps between them.
struct Patience {
  int polls = 2000;        ///< without a pause, some 100 us
  double yields_s = 5e-3;  ///< from the first pause on

  /// Where ranks share a core, one that waits keeps another from its work. A data-parallel training by 4 ranks on 2 cores,
  /// nearly all of it allreduces, took 0.85 of the time like this, and half if other programs computed, too.
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
