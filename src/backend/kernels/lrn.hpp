#pragma once

#include <algorithm>
#include <cmath>

#include "backend/kernel.hpp"

/// Local response normalisation across channels (Krizhevsky et al., NeurIPS 2012, Section 3.3): y = x/d^beta with
///
///   d = k + alpha/size·(the sum of squares of x over `size` neighbouring channels)
///
/// The paper's alpha is not divided by size. Channel c's neighbours are c - size/2 … c + (size-1)/2, those that exist.
namespace paragrad::backend {

struct LrnShape {
  std::size_t places, channels;  ///< of x[places][channels]; every position of an image is a place
  std::size_t size;

  PARAGRAD_HOST_DEVICE std::size_t values() const { return places * channels; }

  /// Calls with(channel) for the neighbours of channel c, or for the channels whose neighbour it is.
  template <class F>
  PARAGRAD_HOST_DEVICE void for_neighbours(std::size_t c, const F& with) const {
    around(c, size / 2, (size - 1) / 2, with);
  }
  template <class F>
  PARAGRAD_HOST_DEVICE void for_users(std::size_t c, const F& with) const {
    around(c, (size - 1) / 2, size / 2, with);
  }

  /// For calibration: about `count` values, never more, in 64 channels or fewer.
  static LrnShape example(std::size_t count) {
    const std::size_t channels = std::min<std::size_t>(count, 64);
    return {count / channels, channels, 5};
  }

 private:
  template <class F>
  PARAGRAD_HOST_DEVICE void around(std::size_t c, std::size_t before, std::size_t after, const F& with) const {
    const std::size_t end = after < channels - c ? c + after + 1 : channels;
    for (std::size_t j = c < before ? 0 : c - before; j < end; ++j) with(j);
  }
};

template <class Real>
struct LrnForwardOf {
  static constexpr KernelId id = KernelId::lrn_forward;

  LrnShape shape;
  Real alpha, beta, k;
  std::span<const Real> x;
  std::span<Real> d;  ///< for the backward pass
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), shape.values());
    expect_size(id, "d", d.size(), x.size());
    expect_size(id, "y", y.size(), x.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), 2 * shape.size + 8, 3); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t c = i % shape.channels, first = i - c;
    Real squares = 0;
    shape.for_neighbours(c, [&](std::size_t j) { squares += x[first + j] * x[first + j]; });
    d[i] = k + alpha / static_cast<Real>(shape.size) * squares;
    y[i] = x[i] * std::pow(d[i], -beta);
  }
  static Example<LrnForwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = LrnShape::example(count)] {
      return LrnForwardOf{shape,
                          Real(1e-4),
                          Real(0.75),
                          1,
                          memory.activations(0, shape.values()),
                          memory.activations(1, shape.values()),
                          memory.activations(2, shape.values())};
    };
  }
};
using LrnForward = LrnForwardOf<float>;

/// dx = keep·dx + the gradient
template <class Real>
struct LrnBackwardOf {
  static constexpr KernelId id = KernelId::lrn_backward;

  LrnShape shape;
  Real alpha, beta;
  std::span<const Real> x, d, y, dy;
  Real keep;
  std::span<Real> dx;

  void check() const {
    for (const auto& [name, size] :
         {std::pair("x", x.size()), {"d", d.size()}, {"y", y.size()}, {"dy", dy.size()}, {"dx", dx.size()}})
      expect_size(id, name, size, shape.values());
  }
  KernelCost cost() const { return streaming_cost(dx.size(), 3 * shape.size + 10, 5); }
  std::size_t elements() const { return dx.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t c = i % shape.channels, first = i - c;
    Real sum = 0;
    shape.for_users(c, [&](std::size_t j) { sum += share(first + j); });
    dx[i] = accumulate(dy[i] * std::pow(d[i], -beta) - factor() * x[i] * sum, keep, dx[i]);
  }
  PARAGRAD_HOST_DEVICE Real share(std::size_t j) const { return dy[j] * y[j] / d[j]; }
  PARAGRAD_HOST_DEVICE Real factor() const { return 2 * alpha * beta / static_cast<Real>(shape.size); }
  static Example<LrnBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = LrnShape::example(count)] {
      const auto values = [&](std::size_t number) { return memory.activations(number, shape.values()); };
      return LrnBackwardOf{shape, Real(1e-4), Real(0.75), values(0), values(1), values(2), values(1), 0, values(2)};
    };
  }
};
using LrnBackward = LrnBackwardOf<float>;

}  // namespace paragrad::backend
