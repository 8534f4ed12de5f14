#pragma once

#include <cmath>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Batch normalisation (Ioffe and Szegedy, ICML 2015): the values of a channel, over all rows and positions, are brought to
/// mean 0 and variance 1, then scaled and shifted. Arrays of two numbers per channel are [2][channels].
namespace paragrad::backend {

/// ChannelKernel::with_terms for the moments: the distances of a channel's values to its first one.
template <class Real, class Loop>
PARAGRAD_HOST_DEVICE void with_distance_terms(const ChannelShape& shape, std::size_t c, std::span<const Real> x,
                                              const Loop& loop) {
  const Real first = shape.rows == 0 ? 0 : x[c];
  loop([&](std::size_t row) { return x[row * shape.channels + c]; },
       [&](Real value) { return distance_sums(value, first); });
}

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
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return shape; }
  PARAGRAD_HOST_DEVICE bool sums() const { return training; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    with_distance_terms(shape, c, x, loop);
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& of_distances) const {
    if (training)
      use_minibatch(c, static_cast<double>(x[c]), of_distances.first, of_distances.second);
    else
      use(c, running[c], running[shape.channels + c]);
    return {used[c], used[shape.channels + c]};
  }
  PARAGRAD_HOST_DEVICE std::span<Real> written() const { return y; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(std::size_t c, const ChannelPair<Real>& mean_and_inverse, const Loop& loop) const {
    const Real mean = mean_and_inverse.first, inverse = mean_and_inverse.second;
    const Real scale = parameters[c], shift = parameters[shape.channels + c];
    with_activation(f, [&]<Activation constant>() {
      loop([&](std::size_t row) {
        return activate(constant, scale * ((x[row * shape.channels + c] - mean) * inverse) + shift);
      });
    });
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

/// ChannelKernel::with_terms for the sums of the gradient: of dy·normalised x, and of dy.
template <class Real, class Loop>
PARAGRAD_HOST_DEVICE void with_gradient_terms(const ChannelShape& shape, std::size_t c, std::span<const Real> x,
                                              std::span<const Real> used, std::span<const Real> dy, const Loop& loop) {
  const Real mean = used[c], inverse = used[shape.channels + c];
  loop(
      [&](std::size_t row) {
        const std::size_t at = row * shape.channels + c;
        return ChannelPair<Real>{x[at], dy[at]};
      },
      [&](const ChannelPair<Real>& of) { return gradient_sums(of.second, (of.first - mean) * inverse); });
}

/// The gradient of the input in one channel, from the means of dy·normalised x and of dy.
template <class Real>
struct BatchNormGradient {
  std::size_t channels, c;
  Real mean, inverse, factor, mean_along, mean_dy;

  PARAGRAD_HOST_DEVICE BatchNormGradient(const ChannelShape& shape, std::size_t c, std::span<const Real> parameters,
                                         std::span<const Real> used, const ChannelPair<Real>& means)
      : channels(shape.channels),
        c(c),
        mean(used[c]),
        inverse(used[shape.channels + c]),
        factor(parameters[c] * inverse),
        mean_along(means.first),
        mean_dy(means.second) {}
  PARAGRAD_HOST_DEVICE Real operator()(Real x, Real dy) const {
    const Real normal = (x - mean) * inverse;
    return factor * (dy - mean_dy - normal * mean_along);
  }

  /// Calls loop(value), where value(row) is an element of keep·dx + the gradient.
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(std::span<const Real> x, std::span<const Real> dy, Real keep, std::span<Real> dx,
                                        const Loop& loop) const {
    const auto at = [&](std::size_t row) { return row * channels + c; };
    if (keep == 0)
      loop([&](std::size_t row) { return (*this)(x[at(row)], dy[at(row)]); });
    else
      loop([&](std::size_t row) { return keep * dx[at(row)] + (*this)(x[at(row)], dy[at(row)]); });
  }
};

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
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return shape; }
  PARAGRAD_HOST_DEVICE bool sums() const { return true; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    with_gradient_terms(shape, c, x, used, dy, loop);
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& all) const {
    add_to_parameters(c, all.first, all.second);
    const double rows = static_cast<double>(shape.rows);
    return {static_cast<Real>(all.first / rows), static_cast<Real>(all.second / rows)};
  }
  PARAGRAD_HOST_DEVICE std::span<Real> written() const { return dx; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(std::size_t c, const ChannelPair<Real>& means, const Loop& loop) const {
    BatchNormGradient<Real>(shape, c, parameters, used, means).with_values(x, dy, keep, dx, loop);
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
