#pragma once

#include <algorithm>
#include <cmath>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

/// Batch normalisation (Ioffe and Szegedy, ICML 2015): the values of a channel, over all rows and positions, are brought to
/// mean 0 and variance 1, then scaled and shifted. Arrays of two numbers per channel are [2][channels].
namespace paragrad::backend {

/// Sizes of x[rows][channels]; of images every position is a row.
struct ChannelShape {
  std::size_t rows, channels;

  PARAGRAD_HOST_DEVICE std::size_t size() const { return rows * channels; }

  /// For calibration: about `count` values in at most 64 channels.
  static ChannelShape example(std::size_t count) {
    const std::size_t channels = std::min<std::size_t>(count, 64);
    return {count / channels, channels};
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
    const std::size_t channels = shape.channels;
    if (training) {
      const double first = static_cast<double>(x[c]);
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < shape.rows; ++i) {
        const double distance = static_cast<double>(x[i * channels + c]) - first;
        sum += distance;
        squares += distance * distance;
      }
      use_minibatch(c, first, sum, squares);
    } else {
      use(c, running[c], running[channels + c]);
    }
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const std::size_t at = i * channels + c;
      y[at] = activate(f, parameters[c] * ((x[at] - used[c]) * used[channels + c]) + parameters[channels + c]);
    }
  }

  /// Takes mean and variance from the sums of a channel's distances to its first value, which is near enough to the mean
  /// for their difference to lose nothing.
  PARAGRAD_HOST_DEVICE void use_minibatch(std::size_t c, double first, double sum, double squares) const {
    const double count = static_cast<double>(shape.rows), difference = squares - sum * sum / count;
    const double about_mean = difference < 0 ? 0 : difference;
    const Real mean = static_cast<Real>(first + sum / count);
    const Real unbiased = static_cast<Real>(about_mean / (count > 1 ? count - 1 : 1));
    running[c] += momentum * (mean - running[c]);
    running[shape.channels + c] += momentum * (unbiased - running[shape.channels + c]);
    use(c, mean, static_cast<Real>(about_mean / count));
  }
  PARAGRAD_HOST_DEVICE void use(std::size_t c, Real mean, Real variance) const {
    used[c] = mean;
    used[shape.channels + c] = 1 / std::sqrt(variance + epsilon);
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
    const std::size_t channels = shape.channels;
    const Real mean = used[c], inverse = used[channels + c];
    double along = 0, sum = 0;
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const std::size_t at = i * channels + c;
      along += static_cast<double>(dy[at]) * static_cast<double>((x[at] - mean) * inverse);
      sum += static_cast<double>(dy[at]);
    }
    add_to_parameters(c, along, sum);
    if (dx.empty()) return;
    const Real mean_along = static_cast<Real>(along / static_cast<double>(shape.rows));
    const Real mean_dy = static_cast<Real>(sum / static_cast<double>(shape.rows));
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const std::size_t at = i * channels + c;
      const Real normal = (x[at] - mean) * inverse;
      dx[at] = accumulate(parameters[c] * inverse * (dy[at] - mean_dy - normal * mean_along), keep, dx[at]);
    }
  }
  PARAGRAD_HOST_DEVICE void add_to_parameters(std::size_t c, double along, double sum) const {
    dparameters[c] = accumulate(static_cast<Real>(along), keep_parameters, dparameters[c]);
    Real& shift = dparameters[shape.channels + c];
    shift = accumulate(static_cast<Real>(sum), keep_parameters, shift);
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
