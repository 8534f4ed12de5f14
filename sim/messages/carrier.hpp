#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "backend/device.hpp"
#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"

namespace paragrad::sim {

/// Moves what messages contain between the memories of emulated workers, and adds it up there. In memory that the host
/// cannot reach this is only begun, in order, and then done by finish(), so that a collective's thousands of messages make
/// nobody wait for the device.
class Carrier {
 public:
  /// device: of the workers' kind.
  explicit Carrier(std::unique_ptr<backend::Device> device) : device_(std::move(device)) {}

  /// to = from. Complete on return if either is the host's memory.
  void move(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!is_out_of_reach(from) || !is_out_of_reach(to)) return device_->transfer(from, to);
    device_->run(backend::Copy{floats_of(from), floats_of(to)});
    has_begun_ = true;
  }

  /// to += from
  void add(std::span<const float> from, std::span<float> to) {
    device_->run(backend::Add{from, to});
    has_begun_ = true;
  }

  /// Returns when all of it is done.
  void finish() {
    if (std::exchange(has_begun_, false)) device_->finish();
  }

 private:
  /// Whether it is numbers in memory that the host cannot reach.
  template <class Byte>
  bool is_out_of_reach(std::span<Byte> data) const {
    const bool numbers =
        data.size() % sizeof(float) == 0 && reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float) == 0;
    return !device_->is_host() && numbers && device_->is_isolated(data.data());
  }
  static std::span<const float> floats_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  static std::span<float> floats_of(std::span<std::byte> bytes) {
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  std::unique_ptr<backend::Device> device_;
  bool has_begun_ = false;
};

}  // namespace paragrad::sim
