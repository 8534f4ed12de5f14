#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <stdexcept>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/lanes.hpp"
#include "core/host_device.hpp"

/// Two-dimensional convolution of images with the channels last: x[rows][height][width][channels], and y likewise. A filter
/// is w[height][width][channels / groups][outputs]: the outputs are divided among the groups in order, and those of a group
/// see its share of the channels. Around the image there are zeros.
namespace paragrad::backend {

/// How a window moves over an image, in one direction.
struct WindowSteps {
  std::size_t image, window, steps;  ///< length of the image and of the window, positions of the window
  std::size_t stride = 1, dilation = 1;
  std::size_t before = 0;  ///< places before the image at which the window begins

  auto operator<=>(const WindowSteps&) const = default;  // an order for keys

  /// What the window's place k covers in position i, or `image` if that is outside.
  PARAGRAD_HOST_DEVICE std::size_t at(std::size_t i, std::size_t k) const {
    const std::size_t place = i * stride + k * dilation;
    return place < before || place - before >= image ? image : place - before;
  }

  /// Calls with(k, i) for each position i in which the window covers `at`, with its place k, in ascending order of k.
  template <class With>
  PARAGRAD_HOST_DEVICE void for_covering(std::size_t at, const With& with) const {
    const std::size_t place = at + before, last = core::divide(place, stride).quotient;
    for (std::size_t i = last < steps ? last + 1 : steps; i-- > 0;) {
      const std::size_t distance = place - i * stride, k = dilation == 1 ? distance : distance / dilation;
      if (k >= window) return;
      if (k * dilation == distance) with(k, i);
    }
  }

  /// How many of the window's places are inside the image in position i.
  PARAGRAD_HOST_DEVICE std::size_t inside(std::size_t i) const {
    std::size_t count = 0;
    for (std::size_t k = 0; k < window; ++k) count += at(i, k) < image ? 1 : 0;
    return count;
  }

  bool is_each_place() const { return window == 1 && stride == 1 && before == 0 && steps == image; }
  bool is_whole_image() const { return window == image && dilation == 1 && before == 0 && steps == 1; }

  /// Places after the image that the window covers.
  std::size_t after() const {
    const std::size_t end = (steps - 1) * stride + (window - 1) * dilation + 1;
    return end > before + image ? end - before - image : 0;
  }
};

struct ConvolutionShape {
  std::size_t rows, channels, outputs;
  WindowSteps down, across;
  std::size_t groups = 1;

  auto operator<=>(const ConvolutionShape&) const = default;

  PARAGRAD_HOST_DEVICE std::size_t group_channels() const { return channels / groups; }
  PARAGRAD_HOST_DEVICE std::size_t group_outputs() const { return outputs / groups; }
  PARAGRAD_HOST_DEVICE std::size_t image() const { return down.image * across.image * channels; }
  PARAGRAD_HOST_DEVICE std::size_t positions() const { return down.steps * across.steps; }  ///< of each row
  PARAGRAD_HOST_DEVICE std::size_t inner() const { return down.window * across.window * group_channels(); }
  PARAGRAD_HOST_DEVICE std::size_t filters() const { return inner() * outputs; }

  /// The place of w[ky][kx][c][o].
  PARAGRAD_HOST_DEVICE std::size_t weight(std::size_t ky, std::size_t kx, std::size_t c, std::size_t o) const {
    return ((ky * across.window + kx) * group_channels() + c) * outputs + o;
  }

  void check(KernelId id) const {
    if (groups == 0 || channels % groups != 0 || outputs % groups != 0 || down.stride == 0 || across.stride == 0)
      throw std::logic_error(std::string(kernel_name(id)) + ": groups must divide channels and outputs");
  }
  void check(KernelId id, const char* x_name, std::size_t x, const char* y_name, std::size_t y) const {
    check(id);
    expect_size(id, x_name, x, rows * image());
    expect_size(id, y_name, y, rows * positions() * outputs);
  }

  /// For calibration: a product of these sizes, with filters of one place.
  static ConvolutionShape example(std::size_t positions, std::size_t inner, std::size_t outputs) {
    return {1, inner, outputs, {1, 1, 1}, {positions, 1, positions}};
  }

  /// A matrix product of rows·positions × inner × outputs. Input, output and weights are read or written once, however
  /// often a convolution uses them.
  KernelCost cost() const {
    KernelCost cost{{rows * positions(), inner(), outputs}, {}};
    cost.work.add(KernelKind::gemm, 2 * rows * positions() * filters(),
                  sizeof(float) * (rows * (image() + positions() * outputs) + filters()));
    return cost;
  }
  /// With a pass over the output, which a bias takes.
  KernelCost cost_with_bias(std::size_t accesses) const {
    KernelCost result = cost();
    const std::size_t all = rows * accesses * positions() * outputs;
    result.work.add(KernelKind::streaming, all, sizeof(float) * all);
    return result;
  }
};

/// y = f(x * w + bias)
template <class Real>
struct ConvolutionForwardOf {
  static constexpr KernelId id = KernelId::convolution_forward;

  ConvolutionShape shape;
  std::span<const Real> x, w, bias;  ///< bias[outputs] may be empty
  Activation f;
  std::span<Real> y;

  void check() const {
    shape.check(id, "x", x.size(), "y", y.size());
    expect_size(id, "w", w.size(), shape.filters());
    if (!bias.empty()) expect_size(id, "bias", bias.size(), shape.outputs);
  }
  KernelCost cost() const { return bias.empty() ? shape.cost() : shape.cost_with_bias(2); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t o = i % shape.outputs, position = i / shape.outputs, row = position / shape.positions();
    const std::size_t oy = position / shape.across.steps % shape.down.steps, ox = position % shape.across.steps;
    const std::size_t depth = shape.group_channels(), first = o / shape.group_outputs() * depth;
    Real sum = 0;
    for (std::size_t ky = 0; ky < shape.down.window; ++ky) {
      const std::size_t iy = shape.down.at(oy, ky);
      for (std::size_t kx = 0; kx < shape.across.window && iy < shape.down.image; ++kx) {
        const std::size_t ix = shape.across.at(ox, kx);
        if (ix == shape.across.image) continue;
        const std::size_t begin = ((row * shape.down.image + iy) * shape.across.image + ix) * shape.channels + first;
        for (std::size_t c = 0; c < depth; ++c) sum += x[begin + c] * w[shape.weight(ky, kx, c, o)];
      }
    }
    y[i] = activate(f, bias.empty() ? sum : sum + bias[o]);
  }
  static Example<ConvolutionForwardOf> example(ExampleMemory& memory, std::size_t positions, std::size_t inner,
                                               std::size_t outputs) {
    return [shape = ConvolutionShape::example(positions, inner, outputs), &memory] {
      return ConvolutionForwardOf{shape,
                                  memory.activations(0, shape.image()),
                                  memory.parameters(shape.filters()),
                                  {},
                                  Activation::identity,
                                  memory.activations(1, shape.positions() * shape.outputs)};
    };
  }
};
using ConvolutionForward = ConvolutionForwardOf<float>;

/// dx = (keep·dx + sum) ∘ f'(x), for `lanes` elements from number i on.
template <class Real, std::size_t lanes>
PARAGRAD_HOST_DEVICE void take_gradient(Lanes<Real, lanes> sum, Real keep, Activation f, const Real* x, Real* dx,
                                        std::size_t i) {
  sum = accumulate(sum, keep, dx + i);
  if (f != Activation::identity) {
    const auto at = Lanes<Real, lanes>::load(x + i);
    for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] *= slope(f, at.of[lane]);
  }
  sum.store(dx + i);
}

/// dx = (keep·dx + the gradient from dy) ∘ f'(x), where f is the activation function of the operation that computed x.
template <class Real>
struct ConvolutionBackwardInputOf {
  static constexpr KernelId id = KernelId::convolution_backward_input;

  ConvolutionShape shape;
  std::span<const Real> dy, w;
  Real keep;
  Activation f;
  std::span<const Real> x;  ///< not read if f is the identity, and may then be empty
  std::span<Real> dx;

  void check() const {
    shape.check(id, "dx", dx.size(), "dy", dy.size());
    expect_size(id, "w", w.size(), shape.filters());
    if (f != Activation::identity) expect_size(id, "x", x.size(), dx.size());
  }
  KernelCost cost() const { return shape.cost(); }
  std::size_t elements() const { return dx.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t channel = i % shape.channels, place = i / shape.channels;
    const std::size_t iy = place / shape.across.image % shape.down.image, ix = place % shape.across.image;
    const std::size_t row = place / (shape.down.image * shape.across.image);
    const std::size_t group = channel / shape.group_channels(), c = channel % shape.group_channels();
    const std::size_t width = shape.group_outputs(), first = group * width;
    Real sum = 0;
    shape.down.for_covering(iy, [&](std::size_t ky, std::size_t oy) {
      shape.across.for_covering(ix, [&](std::size_t kx, std::size_t ox) {
        const std::size_t begin = ((row * shape.down.steps + oy) * shape.across.steps + ox) * shape.outputs + first;
        for (std::size_t o = 0; o < width; ++o) sum += dy[begin + o] * w[shape.weight(ky, kx, c, first + o)];
      });
    });
    take_gradient(Lanes<Real, 1>{sum}, keep, f, x.data(), dx.data(), i);
  }
  static Example<ConvolutionBackwardInputOf> example(ExampleMemory& memory, std::size_t positions, std::size_t inner,
                                                     std::size_t outputs) {
    return [shape = ConvolutionShape::example(positions, inner, outputs), &memory] {
      return ConvolutionBackwardInputOf{shape,
                                        memory.activations(1, shape.positions() * shape.outputs),
                                        memory.parameters(shape.filters()),
                                        0,
                                        Activation::identity,
                                        {},
                                        memory.activations(0, shape.image())};
    };
  }
};
using ConvolutionBackwardInput = ConvolutionBackwardInputOf<float>;

/// dw = keep·dw + the gradient of the filters and, if there is one, of the bias, which follows them.
template <class Real>
struct ConvolutionBackwardWeightsOf {
  static constexpr KernelId id = KernelId::convolution_backward_weights;

  ConvolutionShape shape;
  std::span<const Real> x, dy;
  Real keep;
  std::span<Real> dw;

  bool has_bias() const { return dw.size() > shape.filters(); }

  void check() const {
    shape.check(id, "x", x.size(), "dy", dy.size());
    expect_size(id, "dw", dw.size(), shape.filters() + (has_bias() ? shape.outputs : 0));
  }
  /// The backward pass through a bias and an activation function reads the output twice, its gradient once more, and
  /// writes it.
  KernelCost cost() const { return has_bias() ? shape.cost_with_bias(4) : shape.cost(); }
  std::size_t elements() const { return dw.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const std::size_t o = i % shape.outputs, tap = i / shape.outputs;
    Real sum = 0;
    if (i >= shape.filters()) {
      for (std::size_t p = 0; p < shape.rows * shape.positions(); ++p) sum += dy[p * shape.outputs + o];
    } else {
      const std::size_t depth = shape.group_channels(), c = o / shape.group_outputs() * depth + tap % depth;
      const std::size_t kx = tap / depth % shape.across.window, ky = tap / depth / shape.across.window;
      for (std::size_t row = 0; row < shape.rows; ++row) sum += of_row(row, ky, kx, c, o);
    }
    dw[i] = accumulate(sum, keep, dw[i]);
  }
  PARAGRAD_HOST_DEVICE Real of_row(std::size_t row, std::size_t ky, std::size_t kx, std::size_t c, std::size_t o) const {
    Real sum = 0;
    for (std::size_t oy = 0; oy < shape.down.steps; ++oy) {
      const std::size_t iy = shape.down.at(oy, ky);
      for (std::size_t ox = 0; ox < shape.across.steps && iy < shape.down.image; ++ox) {
        const std::size_t ix = shape.across.at(ox, kx);
        if (ix == shape.across.image) continue;
        sum += x[((row * shape.down.image + iy) * shape.across.image + ix) * shape.channels + c] *
               dy[((row * shape.down.steps + oy) * shape.across.steps + ox) * shape.outputs + o];
      }
    }
    return sum;
  }
  static Example<ConvolutionBackwardWeightsOf> example(ExampleMemory& memory, std::size_t positions, std::size_t inner,
                                                       std::size_t outputs) {
    return [shape = ConvolutionShape::example(positions, inner, outputs), &memory] {
      return ConvolutionBackwardWeightsOf{shape, memory.activations(0, shape.image()),
                                          memory.activations(1, shape.positions() * shape.outputs), Real(0.9),
                                          memory.parameters(shape.filters())};
    };
  }
};
using ConvolutionBackwardWeights = ConvolutionBackwardWeightsOf<float>;

}  // namespace paragrad::backend
