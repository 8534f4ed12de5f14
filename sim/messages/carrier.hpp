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

/// Moves what messages contain between the memories of emulated workers, and adds it up there. In memory that the host
/// cannot reach this is left for later, in order, and done by finish(): a collective's thousands of messages make nobody
/// wait for the device, which does many of them at once.
class Carrier {
 public:
  /// device: of the workers' kind.
  explicit Carrier(std::unique_ptr<backend::Device> device) : device_(std::move(device)) {}

  /// to = from. Complete on return if either is the host's memory.
  void move(std::span<const std::byte> from, std::span<std::byte> to) {
    if (is_out_of_reach(from) && is_out_of_reach(to))
      return later({reinterpret_cast<const float*>(from.data()), reinterpret_cast<float*>(to.data()),
                    from.size() / sizeof(float), false});
    begin();
    device_->transfer(from, to);
  }

  /// to += from, in the workers' memory.
  void add(std::span<const float> from, std::span<float> to) {
    if (device_->is_host()) return device_->run(backend::Add{from, to});
    later({from.data(), to.data(), to.size(), true});
  }

  /// Returns when all of it is done.
  void finish() {
    begin();
    if (std::exchange(has_begun_, false)) device_->finish();
  }

 private:
  static constexpr std::size_t most_at_once = 64;

  void later(const backend::Move& move) {
    const auto must_wait = [&](const backend::Move& other) { return move.depends_on(other); };
    if (left_.size() == most_at_once || std::ranges::any_of(left_, must_wait)) begin();
    left_.push_back(move);
  }
  void begin() {
    if (left_.empty()) return;
    device_->move(left_);
    left_.clear();
    has_begun_ = true;
  }

  /// Whether it is numbers in memory that the host cannot reach.
  template <class Byte>
  bool is_out_of_reach(std::span<Byte> data) const {
    const bool numbers =
        data.size() % sizeof(float) == 0 && reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float) == 0;
    return !device_->is_host() && numbers && device_->is_isolated(data.data());
  }

  std::unique_ptr<backend::Device> device_;
  std::vector<backend::Move> left_;  // none depends on another
  bool has_begun_ = false;
};

}  // namespace paragrad::sim
