#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_array.hpp"
#include "backend/loss_sum.hpp"
#include "tests/backend/support.hpp"

namespace paragrad::backend::testing {

/// Memory for the arrays of one case, with the same content on every device.
class Desk {
 public:
  explicit Desk(Device& device) : device_(device), memory_(device.allocate(size)) {}

  std::span<float> in(std::size_t count, float scale = 1) {
    auto numbers = random_numbers(count, ++streams_);
    for (float& number : numbers) number *= scale;
    return put(numbers);
  }
  std::span<float> out(std::size_t count) { return put(poisoned(count)); }
  std::span<float> positive(std::size_t count) {
    auto numbers = random_numbers(count, ++streams_);
    for (float& number : numbers) number = 0.5f + 0.49f * number;
    return put(numbers);
  }
  std::span<std::byte> bytes_out(std::size_t bytes) { return std::as_writable_bytes(out((bytes + 3) / 4)).first(bytes); }
  LossSum* sum() {
    sums_ = DeviceArray<LossSum>(device_, 1);
    return sums_.data();
  }
  std::span<const std::int32_t> labels(const std::vector<std::int32_t>& values) {
    labels_ = on_device(device_, std::span(values));
    return labels_.span();
  }
  std::span<const std::uint32_t> rows(std::size_t count) {
    std::vector<std::uint32_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<std::uint32_t>(7 * i + 3));
    rows_ = on_device(device_, std::span<const std::uint32_t>(values));
    return rows_.span();
  }

  /// All arrays, and a sum if there is one.
  std::vector<float> read() {
    std::vector<float> all(used_);
    device_.transfer(std::span<const float>(memory_.span().first(used_)), std::span(all));
    if (sums_.size() == 0) return all;
    const LossSum sum = value_at(device_, sums_.data());
    for (const double value : {sum.loss, static_cast<double>(sum.errors), sum.free_energy})
      all.push_back(static_cast<float>(value));
    return all;
  }

 private:
  static constexpr std::size_t size = 1'000'000;

  std::span<float> put(const std::vector<float>& values) {
    if (used_ + values.size() > size)
      throw std::logic_error("a kernel test case needs more than Desk::size floats: raise it");
    const std::span<float> place = memory_.span().subspan(used_, values.size());
    used_ += values.size();
    device_.transfer(std::span<const float>(values), place);
    return place;
  }

  Device& device_;
  core::Arena memory_;
  std::size_t used_ = 0;
  std::uint32_t streams_ = 0;
  DeviceArray<LossSum> sums_;
  DeviceArray<std::int32_t> labels_;
  DeviceArray<std::uint32_t> rows_;
};

struct Case {
  std::string name;
  std::function<void(Device&, Desk&)> run;
  double tolerance = 1e-5;
};

}  // namespace paragrad::backend::testing
