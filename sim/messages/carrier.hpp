#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/kernels/add.hpp"

namespace paragrad::sim {

/// Copies what messages contain between the memories of emulated workers, and adds it up there. In memory that the host
/// cannot reach, both are deferred during collectives, in order, until finish(): so a collective waits for the device once,
/// not once per message. Copies to or from the host's memory (of an eager message whose receive is not posted yet) complete
/// at once.
class Carrier {
 public:
  /// device: of the workers' kind.
  explicit Carrier(std::unique_ptr<backend::Device> device) : device_(std::move(device)) {}

  /// to = from
  void move(std::span<const std::byte> from, std::span<std::byte> to) {
    if (is_out_of_reach(from) && is_out_of_reach(to))
      return defer({reinterpret_cast<const float*>(from.data()), reinterpret_cast<float*>(to.data()),
                    from.size() / sizeof(float), false});
    hand_over();
    device_->transfer(from, to);
  }

  /// to += from, in the workers' memory.
  void add(std::span<const float> from, std::span<float> to) {
    const backend::Add sum{from, to};
    if (device_->is_host() || !device_->computes()) return device_->run(sum);
    sum.check();
    defer({from.data(), to.data(), to.size(), true});
  }

  /// Returns when all of it is done.
  void finish() {
    hand_over();
    if (std::exchange(unfinished_, false)) device_->finish();
  }

  /// Of a worker. Outside collectives nothing is deferred.
  void begin_collective() { ++collectives_; }
  void end_collective() { --collectives_; }

 private:
  void defer(const backend::Move& move) {
    const auto must_wait = [&](const backend::Move& other) { return move.depends_on(other); };
    if (deferred_.size() == backend::Move::most_at_once || std::ranges::any_of(deferred_, must_wait)) hand_over();
    deferred_.push_back(move);
    if (collectives_ == 0) finish();
  }
  void hand_over() {
    if (deferred_.empty()) return;
    device_->move(deferred_);
    deferred_.clear();
    unfinished_ = true;
  }

  /// Whether it is numbers in memory that the host cannot reach.
  template <class Byte>
  bool is_out_of_reach(std::span<Byte> data) const {
    const bool numbers =
        data.size() % sizeof(float) == 0 && reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float) == 0;
    return !device_->is_host() && numbers && device_->is_isolated(data.data());
  }

  std::unique_ptr<backend::Device> device_;
  std::vector<backend::Move> deferred_;  // none depends on another
  bool unfinished_ = false;              // the device has some of it
  int collectives_ = 0;                  // that workers are in
};

}  // namespace paragrad::sim
