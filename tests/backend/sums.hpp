#pragma once

#include "backend/device_array.hpp"
#include "backend/kernels/ctc.hpp"
#include "backend/kernels/dot.hpp"
#include "backend/kernels/focal_loss.hpp"
#include "backend/kernels/losses.hpp"
#include "backend/kernels/softplus_sum.hpp"
#include "backend/kernels/squared_distance.hpp"

/// Kernels that add to a sum, as functions that return it.
namespace paragrad::backend::testing {

template <class Sum, class Kernels>
Sum sum_of(Device& device, const Kernels& kernels) {
  DeviceArray<Sum> sum(device, 1);
  kernels(sum.data());
  return value_at(device, sum.data());
}

template <class Kernels>
LossSum loss_of(Device& device, const Kernels& kernels) {
  return sum_of<LossSum>(device, kernels);
}

inline LossSum softmax_cross_entropy(Device& device, std::size_t batch, std::size_t classes,
                                     std::span<const std::int32_t> labels, std::span<float> logits) {
  return loss_of(device, [&](LossSum* into) { device.run(SoftmaxCrossEntropy{batch, classes, labels, logits, into}); });
}

inline LossSum focal_loss(Device& device, std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels,
                          std::span<float> logits, float gamma) {
  return loss_of(device, [&](LossSum* into) { device.run(FocalLoss{batch, classes, labels, logits, into, gamma}); });
}
inline LossSum squared_error(Device& device, std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels,
                             std::span<float> y) {
  return loss_of(device, [&](LossSum* into) { device.run(SquaredError{batch, classes, labels, y, into}); });
}

inline LossSum ctc(Device& device, std::size_t classes, std::span<const std::uint32_t> active,
                   std::span<const std::int32_t> labels, std::span<float> logits) {
  return loss_of(device, [&](LossSum* into) { device.run(Ctc{classes, Steps(active), labels, logits, into}); });
}

inline double squared_distance(Device& device, std::span<const float> a, std::span<const float> b) {
  return sum_of<double>(device, [&](double* into) { device.run(SquaredDistance{1, a, b, into}); });
}

inline double dot(Device& device, std::span<const float> a, std::span<const float> b) {
  return sum_of<double>(device, [&](double* into) { device.run(Dot{1, a, b, into}); });
}

inline double softplus_sum(Device& device, std::span<const float> x) {
  return sum_of<double>(device, [&](double* into) { device.run(SoftplusSum{1, x, into}); });
}

}  // namespace paragrad::backend::testing
