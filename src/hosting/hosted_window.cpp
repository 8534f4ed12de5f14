#include "hosting/hosted_window.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace paragrad::hosting {

using Lock = comm::Window::Lock;

void SharedMemory::Part::grant(Lock kind) {
  if (kind == Lock::shared)
    ++readers;
  else
    exclusive = true;
}

void HostedWindow::lock(int target, Lock kind) {
  if (held_.contains(holder(target))) throw std::logic_error("a worker locks a window twice");
  SharedMemory::Part& part = memory_->of(target);
  if (part.waiting.empty() && part.is_free_for(kind)) {
    part.grant(kind);
  } else {
    Scheduler::Fiber* const fiber = &waits_->scheduler().current();
    part.waiting.emplace_back(fiber, kind);
    waits_->block_for({"a lock on the window of", target}, std::numeric_limits<double>::infinity());
    std::erase_if(part.waiting,
                  [&](const auto& one) { return one.first == fiber; });  // it is there if unlock() did not wake us
    waits_->stop_if_abandoned();
  }
  held_[holder(target)] = kind;
}

void HostedWindow::unlock(int target) {
  const auto found = held_.find(holder(target));
  if (found == held_.end()) throw std::logic_error("a worker unlocks a window that it has not locked");
  SharedMemory::Part& part = memory_->of(target);
  if (found->second == Lock::shared)
    --part.readers;
  else
    part.exclusive = false;
  held_.erase(found);
  while (!part.waiting.empty() && part.is_free_for(part.waiting.front().second)) {
    const auto [fiber, kind] = part.waiting.front();
    part.waiting.pop_front();
    part.grant(kind);
    waits_->scheduler().wake(*fiber);
  }
}

void HostedWindow::get(int target, std::size_t at, std::span<float> to) {
  std::ranges::copy(floats(target, at, to.size()), to.begin());
  traffic_->received(to.size_bytes());
}

void HostedWindow::put(int target, std::size_t at, std::span<const float> from) {
  std::ranges::copy(from, floats(target, at, from.size()).begin());
  traffic_->sent(from.size_bytes());
}

void HostedWindow::accumulate(int target, std::size_t at, std::span<const float> from) {
  const std::span<float> to = floats(target, at, from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  traffic_->sent(from.size_bytes());
}

std::span<float> HostedWindow::floats(int target, std::size_t at, std::size_t count) {
  if (!held_.contains(holder(target))) throw std::logic_error("a worker accesses a window that it has not locked");
  const std::span<float> all = memory_->of(target).floats.span();
  if (at > all.size() || count > all.size() - at) throw std::logic_error("a transfer exceeds the memory of a window");
  return all.subspan(at, count);
}

std::uint64_t HostedWindow::fetch_add(int target, std::size_t counter, std::uint64_t value) {
  SharedMemory::Part& part = memory_->of(target);
  const std::uint64_t before = part.counters.at(counter);
  part.counters[counter] += value;
  for (Scheduler::Fiber* fiber : std::exchange(part.watching, {})) waits_->scheduler().wake(*fiber);
  return before;
}

std::optional<std::uint64_t> HostedWindow::await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) {
  SharedMemory::Part& part = memory_->of(rank_);
  Scheduler& scheduler = waits_->scheduler();
  const double deadline = scheduler.now_s() + limit_s;
  while (part.counters.at(counter) < at_least) {
    Scheduler::Fiber* const fiber = &scheduler.current();
    part.watching.push_back(fiber);
    const bool woken = waits_->block_for({"a counter of the window of", rank_}, deadline - scheduler.now_s());
    std::erase(part.watching, fiber);
    waits_->stop_if_abandoned();
    if (!woken && part.counters.at(counter) < at_least) return std::nullopt;
  }
  return part.counters.at(counter);
}

std::shared_ptr<SharedMemory> OpeningWindows::open(int workers, int rank, int channel) {
  const std::pair<int, int> window{channel, opened_[{rank, channel}]++};
  Opening& opening = incomplete_[window];
  if (opening.memory == nullptr) opening = {std::make_shared<SharedMemory>(workers), workers};
  const std::shared_ptr<SharedMemory> memory = opening.memory;
  if (--opening.missing == 0) incomplete_.erase(window);
  return memory;
}

}  // namespace paragrad::hosting
