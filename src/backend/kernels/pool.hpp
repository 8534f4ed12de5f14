#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "backend/kernel.hpp"
#include "backend/kernels/convolution.hpp"
#include "backend/lanes.hpp"
#include "core/host_device.hpp"

/// Pooling of images with the channels last, x[rows][height][width][channels]: the maximum or the mean of each channel in a
/// window. Places outside the image do not count. element<lanes>(i) is the formula for `lanes` neighbouring channels, of
/// which i is the first element.
namespace paragrad::backend {

struct PoolShape {
  std::size_t rows, channels;
  WindowSteps down, across;

  PARAGRAD_HOST_DEVICE std::size_t image() const { return down.image * across.image * channels; }
  PARAGRAD_HOST_DEVICE std::size_t outputs() const { return down.steps * across.steps * channels; }
  PARAGRAD_HOST_DEVICE std::size_t window() const { return down.window * across.window; }

  /// Each input and each output of a row is read or written once.
  KernelCost cost() const {
    const std::size_t all = rows * (image() + outputs()), bytes = sizeof(float) * all;
    KernelCost cost{{bytes, 1, 1}, {}};
    cost.work.add(KernelKind::streaming, all, bytes);
    return cost;
  }

  /// For calibration: about `count` inputs and outputs of one wide image, windows of 2x2.
  static PoolShape example(std::size_t count) {
    const std::size_t channels = std::clamp<std::size_t>(count / 5, 1, 64);
    const std::size_t windows = std::max<std::size_t>(1, count / (5 * channels));
    return {1, channels, {2, 2, 1, 2}, {2 * windows, 2, windows, 2}};
  }

  /// An output's channel and the place of its window; or an input's.
  struct Place {
    std::size_t row, y, x, channel;
  };
  PARAGRAD_HOST_DEVICE Place output(std::size_t i) const { return place(i, down.steps, across.steps); }
  PARAGRAD_HOST_DEVICE Place input(std::size_t i) const { return place(i, down.image, across.image); }
  PARAGRAD_HOST_DEVICE std::size_t input_at(const Place& at) const {
    return ((at.row * down.image + at.y) * across.image + at.x) * channels + at.channel;
  }
  PARAGRAD_HOST_DEVICE std::size_t output_at(const Place& at) const {
    return ((at.row * down.steps + at.y) * across.steps + at.x) * channels + at.channel;
  }

  /// The place of element i of an array [rows][height][width][channels].
  PARAGRAD_HOST_DEVICE Place place(std::size_t i, std::size_t height, std::size_t width) const {
    const core::Division channel = core::divide(i, channels), x = core::divide(channel.quotient, width),
                         y = core::divide(x.quotient, height);
    return {y.quotient, y.remainder, x.remainder, channel.remainder};
  }

  PARAGRAD_HOST_DEVICE std::size_t inside(const Place& window) const {
    return down.inside(window.y) * across.inside(window.x);
  }

  /// Calls with(k, place) for the places of the image that the window at `at` covers, k = ky·width + kx.
  template <class F>
  PARAGRAD_HOST_DEVICE void for_window(const Place& at, const F& with) const {
    for (std::size_t ky = 0; ky < down.window; ++ky) {
      const std::size_t iy = down.at(at.y, ky);
      for (std::size_t kx = 0; kx < across.window && iy < down.image; ++kx) {
        const std::size_t ix = across.at(at.x, kx);
        if (ix < across.image) with(ky * across.window + kx, Place{at.row, iy, ix, at.channel});
      }
    }
  }
  /// Calls with(k, window) for the windows that cover a place of the image.
  template <class F>
  PARAGRAD_HOST_DEVICE void for_windows(const Place& at, const F& with) const {
    down.for_covering(at.y, [&](std::size_t ky, std::size_t oy) {
      across.for_covering(at.x, [&](std::size_t kx, std::size_t ox) {
        with(ky * across.window + kx, Place{at.row, oy, ox, at.channel});
      });
    });
  }
};

/// y = the maximum, and chosen = its place k in the window, the first of equals.
template <class Real>
struct MaxPoolOf {
  static constexpr KernelId id = KernelId::max_pool;

  PoolShape shape;
  std::span<const Real> x;
  std::span<Real> y, chosen;

  void check() const {
    expect_size(id, "x", x.size(), shape.rows * shape.image());
    expect_size(id, "y", y.size(), shape.rows * shape.outputs());
    expect_size(id, "chosen", chosen.size(), y.size());
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return y.size(); }
  bool come_in_fours() const { return backend::come_in_fours(shape.channels, {x.data(), y.data(), chosen.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    bool first = true;
    Lanes<Real, lanes> largest{}, place{};
    shape.for_window(shape.output(i), [&](std::size_t k, const PoolShape::Place& at) {
      const auto values = Lanes<Real, lanes>::load(x.data() + shape.input_at(at));
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (!first && !(values.of[lane] > largest.of[lane])) continue;
        largest.of[lane] = values.of[lane];
        place.of[lane] = static_cast<Real>(k);
      }
      first = false;
    });
    if (first) return;
    largest.store(y.data() + i);
    place.store(chosen.data() + i);
  }
  static Example<MaxPoolOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = PoolShape::example(count), &memory] {
      return MaxPoolOf{shape, memory.activations(0, shape.rows * shape.image()),
                       memory.activations(1, shape.rows * shape.outputs()),
                       memory.activations(2, shape.rows * shape.outputs())};
    };
  }
};
using MaxPool = MaxPoolOf<float>;

/// dx = (keep·dx + dy where it was chosen) ∘ f'(x), where f is the activation function of the operation that computed x.
template <class Real>
struct MaxPoolBackwardOf {
  static constexpr KernelId id = KernelId::max_pool_backward;

  PoolShape shape;
  std::span<const Real> dy, chosen;
  Real keep;
  Activation f;
  std::span<const Real> x;  ///< not read if f is the identity, and may then be empty
  std::span<Real> dx;

  void check() const {
    expect_size(id, "dx", dx.size(), shape.rows * shape.image());
    if (f != Activation::identity) expect_size(id, "x", x.size(), dx.size());
    expect_size(id, "dy", dy.size(), shape.rows * shape.outputs());
    expect_size(id, "chosen", chosen.size(), dy.size());
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return dx.size(); }
  bool come_in_fours() const {
    return backend::come_in_fours(shape.channels, {dy.data(), chosen.data(), x.data(), dx.data()});
  }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    Lanes<Real, lanes> sum{};
    shape.for_windows(shape.input(i), [&](std::size_t k, const PoolShape::Place& window) {
      const std::size_t o = shape.output_at(window);
      const auto place = Lanes<Real, lanes>::load(chosen.data() + o), gradient = Lanes<Real, lanes>::load(dy.data() + o);
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (place.of[lane] == static_cast<Real>(k)) sum.of[lane] += gradient.of[lane];
    });
    take_gradient(sum, keep, f, x.data(), dx.data(), i);
  }
  static Example<MaxPoolBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = PoolShape::example(count), &memory] {
      return MaxPoolBackwardOf{shape,
                               memory.activations(1, shape.rows * shape.outputs()),
                               memory.activations(2, shape.rows * shape.outputs()),
                               0,
                               Activation::identity,
                               {},
                               memory.activations(0, shape.rows * shape.image())};
    };
  }
};
using MaxPoolBackward = MaxPoolBackwardOf<float>;

/// y = the mean
template <class Real>
struct MeanPoolOf {
  static constexpr KernelId id = KernelId::mean_pool;

  PoolShape shape;
  std::span<const Real> x;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), shape.rows * shape.image());
    expect_size(id, "y", y.size(), shape.rows * shape.outputs());
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return y.size(); }
  bool come_in_fours() const { return backend::come_in_fours(shape.channels, {x.data(), y.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const PoolShape::Place window = shape.output(i);
    Lanes<Real, lanes> sum{};
    shape.for_window(window, [&](std::size_t, const PoolShape::Place& at) {
      const auto values = Lanes<Real, lanes>::load(x.data() + shape.input_at(at));
      for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] += values.of[lane];
    });
    const Real inside = static_cast<Real>(shape.inside(window));
    for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] /= inside;
    sum.store(y.data() + i);
  }
  static Example<MeanPoolOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = PoolShape::example(count), &memory] {
      return MeanPoolOf{shape, memory.activations(0, shape.rows * shape.image()),
                        memory.activations(1, shape.rows * shape.outputs())};
    };
  }
};
using MeanPool = MeanPoolOf<float>;

/// dx = (keep·dx + the gradient) ∘ f'(x), likewise
template <class Real>
struct MeanPoolBackwardOf {
  static constexpr KernelId id = KernelId::mean_pool_backward;

  PoolShape shape;
  std::span<const Real> dy;
  Real keep;
  Activation f;
  std::span<const Real> x;  ///< not read if f is the identity, and may then be empty
  std::span<Real> dx;

  void check() const {
    expect_size(id, "dx", dx.size(), shape.rows * shape.image());
    if (f != Activation::identity) expect_size(id, "x", x.size(), dx.size());
    expect_size(id, "dy", dy.size(), shape.rows * shape.outputs());
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return dx.size(); }
  bool come_in_fours() const { return backend::come_in_fours(shape.channels, {dy.data(), x.data(), dx.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    Lanes<Real, lanes> sum{};
    shape.for_windows(shape.input(i), [&](std::size_t, const PoolShape::Place& window) {
      const auto gradient = Lanes<Real, lanes>::load(dy.data() + shape.output_at(window));
      const Real inside = static_cast<Real>(shape.inside(window));
      for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] += gradient.of[lane] / inside;
    });
    take_gradient(sum, keep, f, x.data(), dx.data(), i);
  }
  static Example<MeanPoolBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [shape = PoolShape::example(count), &memory] {
      return MeanPoolBackwardOf{shape, memory.activations(1, shape.rows * shape.outputs()), 0, Activation::identity,
                                {},    memory.activations(0, shape.rows * shape.image())};
    };
  }
};
using MeanPoolBackward = MeanPoolBackwardOf<float>;

}  // namespace paragrad::backend
