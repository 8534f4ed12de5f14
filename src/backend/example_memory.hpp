#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "backend/device_array.hpp"
#include "backend/loss_sum.hpp"
#include "core/philox.hpp"

namespace paragrad::backend {

/// Memory for calls that calibration times one after the other. Activations are those of the previous call, as in training;
/// parameters are a model's size apart, so that they come from the cache level that holds a model of some MB.
class ExampleMemory {
 public:
  /// All sizes in elements: of the largest parameter array, activation array and gradient. The gradient is random (the time
  /// of some kernels depends on that), activations are 0.5, parameters 0.001.
  ExampleMemory(Device& device, std::size_t largest_parameters, std::size_t activation, std::size_t gradient);

  Device& device() { return device_; }

  /// Each request gets the range after the previous one, cycling through as much memory as a model with its gradient and
  /// momentum takes, or through a few such arrays if they are larger.
  std::span<float> parameters(std::size_t count) {
    if (next_ + count > std::max(parameter_arrays * count, model_floats)) next_ = 0;
    next_ += count;
    return parameters_.span().subspan(next_ - count, count);
  }

  /// which: 0 to 2, the same memory for each call.
  std::span<float> activations(std::size_t which, std::size_t count) {
    const std::size_t most = activations_.size() / 3;
    if (count > most) throw std::logic_error("an example is larger than the memory for it");
    return activations_.span().subspan(which * most, count);
  }
  std::span<float> all_activations() { return activations_.span(); }

  std::span<const float> gradient(std::size_t count) { return gradient_.span().first(count); }
  std::span<const std::int32_t> labels(std::size_t count) { return labels_.span().first(count); }  ///< all 0
  std::span<const std::uint32_t> rows(std::size_t count) { return rows_.span().first(count); }     ///< all 0
  LossSum* loss() { return loss_.data(); }

 private:
  static constexpr std::size_t model_floats = 2'000'000;
  static constexpr std::size_t parameter_arrays = 4;

  Device& device_;
  core::Arena parameters_;
  std::size_t next_ = 0;
  core::Arena activations_;
  core::Arena gradient_;
  DeviceArray<std::int32_t> labels_;
  DeviceArray<std::uint32_t> rows_;
  DeviceArray<LossSum> loss_;
};

}  // namespace paragrad::backend
