#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/traffic.hpp"
#include "comm/window.hpp"
#include "core/arena.hpp"
#include "hosting/scheduler.hpp"

namespace paragrad::hosting {

/// Memory of each worker of this process, and who waits for it. A transfer is a copy at once, by the scheduler's thread.
class SharedMemory {
 public:
  explicit SharedMemory(int workers) : parts_(static_cast<std::size_t>(workers)) {}

  /// A worker's own part.
  struct Part {
    core::Arena floats;
    std::vector<std::uint64_t> counters;
    int readers = 0;  // that hold a shared lock
    bool exclusive = false;
    std::deque<std::pair<Scheduler::Fiber*, comm::Window::Lock>> waiting;  // for a lock, first come, first served
    std::vector<Scheduler::Fiber*> watching;                               // a counter

    bool is_free_for(comm::Window::Lock kind) const {
      return !exclusive && (kind == comm::Window::Lock::shared || readers == 0);
    }
    void grant(comm::Window::Lock kind);
  };

  Part& of(int worker) { return parts_.at(static_cast<std::size_t>(worker)); }

 private:
  std::vector<Part> parts_;
};

/// A worker's view of it.
class HostedWindow : public comm::Window {
 public:
  HostedWindow(std::shared_ptr<SharedMemory> memory, int rank, std::shared_ptr<Waits> waits,
               std::shared_ptr<comm::TrafficMeter> traffic)
      : memory_(std::move(memory)), rank_(rank), waits_(std::move(waits)), traffic_(std::move(traffic)) {}

  std::span<float> memory() override { return memory_->of(rank_).floats.span(); }
  void lock(int target, Lock kind) override;
  void unlock(int target) override;
  void get(int target, std::size_t at, std::span<float> to) override;
  void put(int target, std::size_t at, std::span<const float> from) override;
  void accumulate(int target, std::size_t at, std::span<const float> from) override;
  std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) override;
  std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) override;

 private:
  using Holder = std::pair<const Scheduler::Fiber*, int>;  // of a lock, and its target

  Holder holder(int target) const { return {&waits_->scheduler().current(), target}; }
  std::span<float> floats(int target, std::size_t at, std::size_t count);

  std::shared_ptr<SharedMemory> memory_;
  int rank_;
  std::shared_ptr<Waits> waits_;
  std::map<Holder, Lock> held_;
  std::shared_ptr<comm::TrafficMeter> traffic_;
};

/// The windows that some workers have opened and others not yet.
class OpeningWindows {
 public:
  /// The n-th window of each worker on a channel is the same.
  std::shared_ptr<SharedMemory> open(int workers, int rank, int channel);

 private:
  struct Opening {
    std::shared_ptr<SharedMemory> memory;
    int missing = 0;
  };
  std::map<std::pair<int, int>, int> opened_;          // by worker and channel: how many
  std::map<std::pair<int, int>, Opening> incomplete_;  // by channel and number
};

}  // namespace paragrad::hosting
