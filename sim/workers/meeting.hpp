#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"

namespace paragrad::sim {

/// A collective operation without messages: all workers leave it together, the longest of their durations after the last one
/// has entered.
class Meeting {
 public:
  Meeting(Engine& engine, int workers) : engine_(engine), workers_(static_cast<std::size_t>(workers)) {}

  void enter(Time duration) {
    engine_.settle();
    longest_ = std::max(longest_, duration);
    if (waiting_.size() + 1 < workers_) {
      waiting_.push_back(&engine_.current());
      engine_.block({.what = "an NCCL routine that not all have entered: for"});
      engine_.settle();
      return;
    }
    const Time end = engine_.now() + std::exchange(longest_, 0);
    for (Fiber* fiber : waiting_) engine_.wake_at(*fiber, end);
    waiting_.clear();
    engine_.sleep_until(end);
  }

 private:
  Engine& engine_;
  std::size_t workers_;
  std::vector<Engine::Fiber*> waiting_;
  Time longest_ = 0;
};

}  // namespace paragrad::sim
