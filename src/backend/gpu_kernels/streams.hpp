#pragma once

#include "backend/formulas.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/random_numbers.hpp"
#include "core/encoding.hpp"
#include "core/philox.hpp"

/// Elementwise kernels: formulas for a gpu_kernels::Stream. Arrays have its length unless stated otherwise.
namespace paragrad::backend::gpu_kernels {

struct Fill {
  static constexpr const char* name = "fill";
  float value;
  float* x;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { x[i] = value; }
};

struct Copy {
  static constexpr const char* name = "copy";
  const float* from;
  float* to;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { to[i] = from[i]; }
};

/// features[windows][width]; stored[frames][frame_dim].
struct Decode {
  static constexpr const char* name = "decode";
  core::Encoding encoding;
  std::size_t frame_dim, width;
  const std::byte* stored;
  const std::uint32_t* windows;
  float* features;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    features[i] = encoding.decode(stored, windows[i / width] * frame_dim + i % width);
  }
};

/// For rows·columns elements.
struct CopyColumns {
  static constexpr const char* name = "copy_columns";
  std::size_t columns, from_width, to_width;
  const float* from;
  float* to;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t row = i / columns, column = i % columns;
    to[row * to_width + column] = from[row * from_width + column];
  }
};

struct ScaleBy {
  static constexpr const char* name = "scale";
  float factor;
  float* x;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { x[i] *= factor; }
};

struct Add {
  static constexpr const char* name = "add";
  const float* from;
  float* to;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { to[i] += from[i]; }
};

struct Clamp {
  static constexpr const char* name = "clamp";
  float limit;
  float* x;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { x[i] = formulas::clamp(limit, x[i]); }
};

/// y[rows][columns] = f(y + bias[columns]).
struct AddBias {
  static constexpr const char* name = "bias and activation";
  Activation f;
  std::size_t columns;
  const float* bias;
  float* y;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { y[i] = formulas::activate(f, y[i] + bias[i % columns]); }
};

struct TimesSlope {
  static constexpr const char* name = "activation_backward";
  Activation f;
  const float* y;
  float* dz;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { dz[i] *= formulas::slope(f, y[i]); }
};

struct Descend {
  static constexpr const char* name = "descend";
  float rate, decay;
  float *d, *w;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { formulas::descend(rate, decay, d[i], w[i]); }
};

struct MomentumUpdate {
  static constexpr const char* name = "momentum_update";
  float rate, momentum, decay;
  bool nesterov;
  const float* g;
  float *v, *w;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    formulas::momentum_update(rate, momentum, nesterov, decay, g[i], v[i], w[i]);
  }
};

struct AdamUpdate {
  static constexpr const char* name = "adam_update";
  formulas::Adam<float> adam;
  const float* g;
  float *m, *v, *w;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { adam.update(g[i], m[i], v[i], w[i]); }
};

struct BlockFilter {
  static constexpr const char* name = "block_filter";
  float momentum, rate, ahead_before, ahead;
  float *average, *w, *delta;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    formulas::block_filter(momentum, rate, ahead_before, ahead, average[i], w[i], delta[i]);
  }
};

struct LookAhead {
  static constexpr const char* name = "look_ahead";
  float ahead;
  const float *w, *delta;
  float* to;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { to[i] = w[i] + ahead * delta[i]; }
};

struct FilterMoment {
  static constexpr const char* name = "moment_filter";
  formulas::MomentFilter<float> filter;
  float *moment, *base;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { filter.filter(moment[i], base[i]); }
};

/// The norm of one row of w[columns][rows], summed in the order of the columns.
struct LimitRowNorm {
  static constexpr const char* name = "limit_row_norms";
  std::size_t rows, columns;
  float limit;
  float* w;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t row) const {
    double squares = 0;
    for (std::size_t i = row; i < rows * columns; i += rows)
      squares += static_cast<double>(w[i]) * static_cast<double>(w[i]);
    const float factor = formulas::norm_factor(squares, limit);
    for (std::size_t i = row; i < rows * columns; i += rows) w[i] *= factor;
  }
};

/// The random draw of each unit of each row, [rows][units].
template <bool bernoulli>
struct Sample {
  static constexpr const char* name = bernoulli ? "sample_bernoulli" : "sample_normal";
  core::RandomStream random;
  const std::uint32_t* rows;
  std::size_t units;
  const float* x;
  float* y;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const CounterSlot place = CounterSlot::of(i % units);
    const std::uint32_t word = random.words(CounterSlot::index(rows[i / units], place.counter))[place.word];
    if constexpr (bernoulli)
      y[i] = uniform<float>(word) < x[i] ? 1.f : 0.f;
    else
      y[i] = x[i] + normal<float>(word);
  }
};

}  // namespace paragrad::backend::gpu_kernels
