#pragma once

#include <algorithm>
#include <cmath>

#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"

/// Normalisation of each row by itself: layer normalisation (Ba, Kiros and Hinton, arXiv 1607.06450), and without
/// subtracting the mean RMS normalisation (Zhang and Sennrich, NeurIPS 2019).
namespace paragrad::backend {

struct RowNormShape {
  std::size_t rows, width;
  bool centred;  ///< the mean is subtracted
  bool shifted;  ///< parameters have shifts after the scales

  PARAGRAD_HOST_DEVICE std::size_t size() const { return rows * width; }
  PARAGRAD_HOST_DEVICE std::size_t parameters() const { return shifted ? 2 * width : width; }

  /// For calibration: about `count` values.
  static RowNormShape example(std::size_t count) {
    const std::size_t width = std::min<std::size_t>(count, 256);
    return {count / width, width, true, true};
  }
};

/// y = scale·(x - mean)/sqrt(variance + epsilon) + shift; not centred: the mean is taken as 0. An element is a row.
template <class Real>
struct RowNormForwardOf {
  static constexpr KernelId id = KernelId::row_norm_forward;

  RowNormShape shape;
  Real epsilon;
  std::span<const Real> x;
  std::span<const Real> parameters;  ///< scales [width] and, if shifted, shifts [width]
  std::span<Real> used;              ///< [rows][2]: mean and 1/sqrt(variance + epsilon), for the backward pass
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), shape.parameters());
    expect_size(id, "used", used.size(), 2 * shape.rows);
    expect_size(id, "y", y.size(), shape.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), 6, 3); }
  std::size_t elements() const { return shape.rows; }
  PARAGRAD_HOST_DEVICE void element(std::size_t row) const {
    const std::size_t width = shape.width, first = row * width;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < width && shape.centred; ++i) sum += static_cast<double>(x[first + i]);
    const double mean = sum / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) {
      const double distance = static_cast<double>(x[first + i]) - mean;
      squares += distance * distance;
    }
    use(row, mean, squares / static_cast<double>(width));
    for (std::size_t i = 0; i < width; ++i) {
      const Real normal = (x[first + i] - used[2 * row]) * used[2 * row + 1];
      y[first + i] = parameters[i] * normal + (shape.shifted ? parameters[width + i] : Real(0));
    }
  }
  PARAGRAD_HOST_DEVICE void use(std::size_t row, double mean, double variance) const {
    used[2 * row] = static_cast<Real>(mean);
    used[2 * row + 1] = 1 / std::sqrt(static_cast<Real>(variance) + epsilon);
  }
  static Example<RowNormForwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = RowNormShape::example(count)] {
      return RowNormForwardOf{shape,
                              Real(1e-5),
                              memory.activations(0, shape.size()),
                              memory.parameters(shape.parameters()),
                              memory.parameters(2 * shape.rows),
                              memory.activations(1, shape.size())};
    };
  }
};
using RowNormForward = RowNormForwardOf<float>;

/// dx = keep·dx + the gradient. An element is a row.
template <class Real>
struct RowNormBackwardOf {
  static constexpr KernelId id = KernelId::row_norm_backward;

  RowNormShape shape;
  std::span<const Real> x, parameters, used, dy;
  Real keep;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), shape.parameters());
    expect_size(id, "used", used.size(), 2 * shape.rows);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dx", dx.size(), shape.size());
  }
  KernelCost cost() const { return streaming_cost(dx.size(), 9, 3); }
  std::size_t elements() const { return shape.rows; }
  PARAGRAD_HOST_DEVICE void element(std::size_t row) const {
    const std::size_t width = shape.width, first = row * width;
    const Real mean = used[2 * row], factor = used[2 * row + 1];
    double along = 0, sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double gradient = static_cast<double>(dy[first + i] * parameters[i]);
      along += gradient * static_cast<double>((x[first + i] - mean) * factor);
      sum += gradient;
    }
    const Real mean_along = static_cast<Real>(along / static_cast<double>(width));
    const Real mean_gradient = shape.centred ? static_cast<Real>(sum / static_cast<double>(width)) : Real(0);
    for (std::size_t i = 0; i < width; ++i) {
      const Real normal = (x[first + i] - mean) * factor;
      const Real gradient = dy[first + i] * parameters[i] - mean_gradient - normal * mean_along;
      dx[first + i] = accumulate(factor * gradient, keep, dx[first + i]);
    }
  }
  static Example<RowNormBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = RowNormShape::example(count)] {
      return RowNormBackwardOf{shape,
                               memory.activations(0, shape.size()),
                               memory.parameters(shape.parameters()),
                               memory.parameters(2 * shape.rows),
                               memory.activations(1, shape.size()),
                               0,
                               memory.activations(2, shape.size())};
    };
  }
};
using RowNormBackward = RowNormBackwardOf<float>;

/// dparameters = keep·dparameters + the sums over the rows. An element is a column.
template <class Real>
struct RowNormGradientOf {
  static constexpr KernelId id = KernelId::row_norm_gradient;

  RowNormShape shape;
  std::span<const Real> x, used, dy;
  Real keep;
  std::span<Real> dparameters;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "used", used.size(), 2 * shape.rows);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dparameters", dparameters.size(), shape.parameters());
  }
  KernelCost cost() const { return streaming_cost(dy.size(), 5, 2); }
  std::size_t elements() const { return shape.width; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return {shape.rows, shape.width}; }
  PARAGRAD_HOST_DEVICE bool sums() const { return true; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    loop(
        [&](std::size_t row) {
          const std::size_t at = row * shape.width + c;
          return ChannelPair<Real>{(x[at] - used[2 * row]) * used[2 * row + 1], dy[at]};
        },
        [&](const ChannelPair<Real>& of) { return gradient_sums(of.second, of.first); });
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& all) const {
    add_to_parameters(c, all.first, all.second);
    return {};
  }
  PARAGRAD_HOST_DEVICE void add_to_parameters(std::size_t c, double along, double sum) const {
    dparameters[c] = accumulate(static_cast<Real>(along), keep, dparameters[c]);
    if (!shape.shifted) return;
    Real& shift = dparameters[shape.width + c];
    shift = accumulate(static_cast<Real>(sum), keep, shift);
  }
  static Example<RowNormGradientOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = RowNormShape::example(count)] {
      return RowNormGradientOf{shape,
                               memory.activations(0, shape.size()),
                               memory.parameters(2 * shape.rows),
                               memory.activations(1, shape.size()),
                               0,
                               memory.parameters(shape.parameters())};
    };
  }
};
using RowNormGradient = RowNormGradientOf<float>;

}  // namespace paragrad::backend
