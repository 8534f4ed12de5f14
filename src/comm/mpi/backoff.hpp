#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace paragrad::comm {

/// Pause between two polls: yields the core at first, sleeps once the wait exceeds 5 ms.
class Backoff {
 public:
  double waited_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void pause() const {
    constexpr double sleep_after_s = 5e-3;
    if (waited_s() < sleep_after_s)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace paragrad::comm
