#pragma once

#include <algorithm>
#include <cmath>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Group normalisation (Wu and He, ECCV 2018): of each row, the values of a group of neighbouring channels, over all
/// positions, are brought to mean 0 and variance 1; each channel is then scaled and shifted.
namespace paragrad::backend {

/// Sizes of x[rows][positions][channels]; `groups` divides the channels.
struct GroupShape {
  std::size_t rows, positions, channels, groups;

  PARAGRAD_HOST_DEVICE std::size_t size() const { return rows * positions * channels; }
  PARAGRAD_HOST_DEVICE std::size_t group_channels() const { return channels / groups; }

  /// Calls with(place in x, channel) for the values of group number `element` of all rows' groups.
  template <class F>
  PARAGRAD_HOST_DEVICE void for_group(std::size_t element, const F& with) const {
    const std::size_t row = element / groups, first = element % groups * group_channels();
    for (std::size_t i = 0; i < positions; ++i)
      for (std::size_t c = first; c < first + group_channels(); ++c) with((row * positions + i) * channels + c, c);
  }

  /// For calibration: about `count` values, never more; 16 channels in 4 groups at 64 positions if there are so many.
  static GroupShape example(std::size_t count) {
    const std::size_t channels = std::min<std::size_t>(count, 16);
    const std::size_t positions = std::min<std::size_t>(count / channels, 64);
    return {count / (positions * channels), positions, channels, channels < 16 ? channels : 4};
  }
};

/// y = f(scale·(x - mean)/sqrt(variance + epsilon) + shift). An element is a group of a row.
template <class Real>
struct GroupNormForwardOf {
  static constexpr KernelId id = KernelId::group_norm_forward;

  GroupShape shape;
  Real epsilon;
  Activation f;
  std::span<const Real> x;
  std::span<const Real> parameters;  ///< scale and shift, [2][channels]
  std::span<Real> used;              ///< [rows][groups][2]: mean and 1/sqrt(variance + epsilon), for the backward pass
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), 2 * shape.channels);
    expect_size(id, "used", used.size(), 2 * shape.rows * shape.groups);
    expect_size(id, "y", y.size(), shape.size());
  }
  /// x is read once for the moments, while it is in the cache again for the variance, and for y.
  KernelCost cost() const { return streaming_cost(y.size(), 6, 3); }
  std::size_t elements() const { return shape.rows * shape.groups; }
  PARAGRAD_HOST_DEVICE void element(std::size_t e) const {
    double sum = 0, squares = 0;
    shape.for_group(e, [&](std::size_t at, std::size_t) { sum += static_cast<double>(x[at]); });
    const double count = static_cast<double>(shape.positions * shape.group_channels()), mean = sum / count;
    shape.for_group(e, [&](std::size_t at, std::size_t) {
      const double distance = static_cast<double>(x[at]) - mean;
      squares += distance * distance;
    });
    use(e, mean, squares / count);
    shape.for_group(e, [&](std::size_t at, std::size_t c) {
      y[at] = activate(f, parameters[c] * ((x[at] - used[2 * e]) * used[2 * e + 1]) + parameters[shape.channels + c]);
    });
  }
  PARAGRAD_HOST_DEVICE void use(std::size_t e, double mean, double variance) const {
    used[2 * e] = static_cast<Real>(mean);
    used[2 * e + 1] = 1 / std::sqrt(static_cast<Real>(variance) + epsilon);
  }
  static Example<GroupNormForwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = GroupShape::example(count)] {
      return GroupNormForwardOf{shape,
                                Real(1e-5),
                                Activation::relu,
                                memory.activations(0, shape.size()),
                                memory.parameters(2 * shape.channels),
                                memory.parameters(2 * shape.rows * shape.groups),
                                memory.activations(1, shape.size())};
    };
  }
};
using GroupNormForward = GroupNormForwardOf<float>;

/// dx = keep·dx + the gradient; dy is the gradient before f. An element is a group of a row.
template <class Real>
struct GroupNormBackwardOf {
  static constexpr KernelId id = KernelId::group_norm_backward;

  GroupShape shape;
  std::span<const Real> x, parameters, used, dy;
  Real keep;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), 2 * shape.channels);
    expect_size(id, "used", used.size(), 2 * shape.rows * shape.groups);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dx", dx.size(), shape.size());
  }
  /// x and dy are read for the sums and, in the cache, for dx.
  KernelCost cost() const { return streaming_cost(dx.size(), 9, 3); }
  std::size_t elements() const { return shape.rows * shape.groups; }
  PARAGRAD_HOST_DEVICE void element(std::size_t e) const {
    double along = 0, sum = 0;
    shape.for_group(e, [&](std::size_t at, std::size_t c) {
      const double gradient = static_cast<double>(dy[at] * parameters[c]);
      along += gradient * static_cast<double>(normal(e, at));
      sum += gradient;
    });
    const double count = static_cast<double>(shape.positions * shape.group_channels());
    const Real mean_along = static_cast<Real>(along / count), mean = static_cast<Real>(sum / count);
    shape.for_group(e, [&](std::size_t at, std::size_t c) {
      const Real gradient = dy[at] * parameters[c] - mean - normal(e, at) * mean_along;
      dx[at] = accumulate(used[2 * e + 1] * gradient, keep, dx[at]);
    });
  }
  PARAGRAD_HOST_DEVICE Real normal(std::size_t e, std::size_t at) const { return (x[at] - used[2 * e]) * used[2 * e + 1]; }
  static Example<GroupNormBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = GroupShape::example(count)] {
      return GroupNormBackwardOf{shape,
                                 memory.activations(0, shape.size()),
                                 memory.parameters(2 * shape.channels),
                                 memory.parameters(2 * shape.rows * shape.groups),
                                 memory.activations(1, shape.size()),
                                 0,
                                 memory.activations(2, shape.size())};
    };
  }
};
using GroupNormBackward = GroupNormBackwardOf<float>;

/// Gradients of scale and shift: dparameters = keep·dparameters + the sums over rows and positions. An element is a channel.
template <class Real>
struct GroupNormGradientOf {
  static constexpr KernelId id = KernelId::group_norm_gradient;

  GroupShape shape;
  std::span<const Real> x, used, dy;
  Real keep;
  std::span<Real> dparameters;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "used", used.size(), 2 * shape.rows * shape.groups);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dparameters", dparameters.size(), 2 * shape.channels);
  }
  KernelCost cost() const { return streaming_cost(dy.size(), 5, 2); }
  std::size_t elements() const { return shape.channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return {shape.rows * shape.positions, shape.channels}; }
  PARAGRAD_HOST_DEVICE bool sums() const { return true; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    const std::size_t group = c / shape.group_channels();
    loop(
        [&](std::size_t place) {
          const std::size_t e = core::divide(place, shape.positions).quotient * shape.groups + group;
          const std::size_t at = place * shape.channels + c;
          return ChannelPair<Real>{(x[at] - used[2 * e]) * used[2 * e + 1], dy[at]};
        },
        [&](const ChannelPair<Real>& of) { return gradient_sums(of.second, of.first); });
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& all) const {
    add_to_parameters(c, all.first, all.second);
    return {};
  }

  PARAGRAD_HOST_DEVICE void add_to_parameters(std::size_t c, double along, double sum) const {
    dparameters[c] = accumulate(static_cast<Real>(along), keep, dparameters[c]);
    Real& shift = dparameters[shape.channels + c];
    shift = accumulate(static_cast<Real>(sum), keep, shift);
  }
  static Example<GroupNormGradientOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = GroupShape::example(count)] {
      return GroupNormGradientOf{shape,
                                 memory.activations(0, shape.size()),
                                 memory.parameters(2 * shape.rows * shape.groups),
                                 memory.activations(1, shape.size()),
                                 0,
                                 memory.parameters(2 * shape.channels)};
    };
  }
};
using GroupNormGradient = GroupNormGradientOf<float>;

}  // namespace paragrad::backend
