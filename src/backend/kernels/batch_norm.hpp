#pragma once

#include <algorithm>
#include <cmath>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

/// Batch normalisation (Ioffe and Szegedy, ICML 2015): the values of a channel, over all rows and positions, are brought to
/// mean 0 and variance 1, then scaled and shifted. Arrays of two numbers per channel are [2][channels].
namespace paragrad::backend {

/// Sizes of x[rows][channels][positions].
struct ChannelShape {
  std::size_t rows, channels, positions;

  std::size_t size() const { return rows * channels * positions; }
  PARAGRAD_HOST_DEVICE std::size_t per_channel() const { return rows * positions; }

  /// The place of value i of a channel.
  PARAGRAD_HOST_DEVICE std::size_t at(std::size_t channel, std::size_t i) const {
    return (i / positions * channels + channel) * positions + i % positions;
  }

  /// For calibration: about `count` values in at most 64 channels.
  static ChannelShape example(std::size_t count) {
    const std::size_t channels = std::min<std::size_t>(count, 64);
    return {count / channels, channels, 1};
  }
};

/// y = f(scale·(x - mean)/sqrt(variance + epsilon) + shift). In training mean and variance are the minibatch's, and the
/// running ones move towards them: running += momentum·(its - running), with the unbiased variance. Otherwise they are the
/// running ones. An element is a channel.
template <class Real>
struct BatchNormForwardOf {
  static constexpr KernelId id = KernelId::batch_norm_forward;

  ChannelShape shape;
  bool training;
  Real epsilon, momentum;
  Activation f;
  std::span<const Real> x;
  std::span<const Real> parameters;  ///< scale and shift
  std::span<Real> running;           ///< mean and variance
  std::span<Real> used;              ///< mean and 1/sqrt(variance + epsilon), for the backward pass
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), 2 * shape.channels);
    expect_size(id, "running", running.size(), 2 * shape.channels);
    expect_size(id, "used", used.size(), 2 * shape.channels);
    expect_size(id, "y", y.size(), shape.size());
  }
  /// x is read for the moments and again for y; f, if it follows, takes another pass.
  KernelCost cost() const { return streaming_cost(y.size(), 5, 5); }
  std::size_t elements() const { return shape.channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const {
    const std::size_t channels = shape.channels, count = shape.per_channel();
    Real mean = running[c], variance = running[channels + c];
    if (training) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(x[shape.at(c, i)]);
      const double middle = sum / static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i) {
        const double distance = static_cast<double>(x[shape.at(c, i)]) - middle;
        squares += distance * distance;
      }
      const double freedom = count > 1 ? static_cast<double>(count - 1) : 1.0;
      mean = static_cast<Real>(middle);
      variance = static_cast<Real>(squares / static_cast<double>(count));
      running[c] += momentum * (mean - running[c]);
      running[channels + c] += momentum * (static_cast<Real>(squares / freedom) - running[channels + c]);
    }
    const Real inverse = 1 / std::sqrt(variance + epsilon);
    used[c] = mean;
    used[channels + c] = inverse;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = shape.at(c, i);
      y[at] = activate(f, parameters[c] * ((x[at] - mean) * inverse) + parameters[channels + c]);
    }
  }
  static Example<BatchNormForwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = ChannelShape::example(count)] {
      const auto of_channels = [&] { return memory.parameters(2 * shape.channels); };
      return BatchNormForwardOf{shape,
                                true,
                                Real(1e-5),
                                Real(0.1),
                                Activation::relu,
                                memory.activations(0, shape.size()),
                                of_channels(),
                                of_channels(),
                                of_channels(),
                                memory.activations(1, shape.size())};
    };
  }
};
using BatchNormForward = BatchNormForwardOf<float>;

/// The gradient of a training pass: dparameters = keep_parameters·dparameters + …, dx = keep·dx + …; dy is the gradient
/// before f. Without dx (empty) only the parameters'.
template <class Real>
struct BatchNormBackwardOf {
  static constexpr KernelId id = KernelId::batch_norm_backward;

  ChannelShape shape;
  std::span<const Real> x, parameters, used, dy;
  Real keep_parameters;
  std::span<Real> dparameters;
  Real keep;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), 2 * shape.channels);
    expect_size(id, "used", used.size(), 2 * shape.channels);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dparameters", dparameters.size(), 2 * shape.channels);
    if (!dx.empty()) expect_size(id, "dx", dx.size(), shape.size());
  }
  /// x and dy are read twice, dx is written; the slope of f, if it follows, takes another pass.
  KernelCost cost() const { return streaming_cost(dy.size(), 8, 8); }
  std::size_t elements() const { return shape.channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const {
    const std::size_t channels = shape.channels, count = shape.per_channel();
    const Real mean = used[c], inverse = used[channels + c];
    double along = 0, sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = shape.at(c, i);
      along += static_cast<double>(dy[at]) * static_cast<double>((x[at] - mean) * inverse);
      sum += static_cast<double>(dy[at]);
    }
    dparameters[c] = accumulate(static_cast<Real>(along), keep_parameters, dparameters[c]);
    dparameters[channels + c] = accumulate(static_cast<Real>(sum), keep_parameters, dparameters[channels + c]);
    const Real mean_along = static_cast<Real>(along / static_cast<double>(count));
    const Real mean_dy = static_cast<Real>(sum / static_cast<double>(count));
    for (std::size_t i = 0; i < count && !dx.empty(); ++i) {
      const std::size_t at = shape.at(c, i);
      const Real normal = (x[at] - mean) * inverse;
      dx[at] = accumulate(parameters[c] * inverse * (dy[at] - mean_dy - normal * mean_along), keep, dx[at]);
    }
  }
  static Example<BatchNormBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = ChannelShape::example(count)] {
      const auto of_channels = [&] { return memory.parameters(2 * shape.channels); };
      return BatchNormBackwardOf{shape,
                                 memory.activations(0, shape.size()),
                                 of_channels(),
                                 of_channels(),
                                 memory.activations(1, shape.size()),
                                 0,
                                 of_channels(),
                                 0,
                                 memory.activations(2, shape.size())};
    };
  }
};
using BatchNormBackward = BatchNormBackwardOf<float>;

}  // namespace paragrad::backend
