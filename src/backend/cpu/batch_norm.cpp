#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// The formula with a register of neighbouring channels at a time: the same operations in the same order, so the same bits.
namespace paragrad::backend::cpu {
namespace {

using Doubles = double __attribute__((vector_size(PARAGRAD_VECTOR_BYTES)));
using HalfVector = float __attribute__((vector_size(PARAGRAD_VECTOR_BYTES / 2)));

/// The lanes of a Vector in double precision.
struct Wide {
  Doubles low{}, high{};

  static Wide of(Vector v) {
    HalfVector halves[2];
    std::memcpy(halves, &v, sizeof v);
    return {__builtin_convertvector(halves[0], Doubles), __builtin_convertvector(halves[1], Doubles)};
  }
  Wide operator-(const Wide& b) const { return {low - b.low, high - b.high}; }
  Wide operator*(const Wide& b) const { return {low * b.low, high * b.high}; }
  Wide& operator+=(const Wide& b) {
    low += b.low, high += b.high;
    return *this;
  }
  double operator[](std::size_t lane) const { return lane < lanes / 2 ? low[lane] : high[lane - lanes / 2]; }
};

/// A part of the channels: `vectors` registers, the last of which may be filled partly.
template <std::size_t vectors>
class Columns {
 public:
  static constexpr std::size_t widest = vectors * lanes;

  explicit Columns(std::size_t width) : last_(width - (vectors - 1) * lanes) {}

  std::size_t lanes_of(std::size_t v) const { return v + 1 < vectors ? lanes : last_; }
  Vector read(const float* from, std::size_t v) const {
    return lanes_of(v) == lanes ? load(from + v * lanes) : load_part(from + v * lanes, last_);
  }
  void write(Vector value, float* to, std::size_t v) const {
    lanes_of(v) == lanes ? store(value, to + v * lanes) : store_part(value, to + v * lanes, last_);
  }

 private:
  std::size_t last_;
};

/// Calls with(Columns<n>, first channel) for parts of the channels, up to four registers each.
template <class F>
void for_columns(std::size_t channels, const F& with) {
  std::size_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) with(Columns<4>(4 * lanes), c);
  for (; c + 2 * lanes <= channels; c += 2 * lanes) with(Columns<2>(2 * lanes), c);
  for (; c < channels; c += lanes) with(Columns<1>(std::min(lanes, channels - c)), c);
}

/// Calls with(channel, its first value, sum and sum of squares of the distances to it).
template <std::size_t vectors, class F>
void sum_distances(const ChannelShape& shape, std::span<const float> x_of_all, Columns<vectors> columns, std::size_t c,
                   const F& with) {
  Wide first[vectors], sum[vectors], squares[vectors];
  const float* x = x_of_all.data() + c;
  for (std::size_t v = 0; v < vectors && shape.rows > 0; ++v) first[v] = Wide::of(columns.read(x, v));
  for (std::size_t i = 0; i < shape.rows; ++i, x += shape.channels)
    for (std::size_t v = 0; v < vectors; ++v) {
      const Wide distance = Wide::of(columns.read(x, v)) - first[v];
      sum[v] += distance;
      squares[v] += distance * distance;
    }
  for (std::size_t v = 0; v < vectors; ++v)
    for (std::size_t l = 0; l < columns.lanes_of(v); ++l) with(c + v * lanes + l, first[v][l], sum[v][l], squares[v][l]);
}

template <Activation f, std::size_t vectors>
void normalise(const BatchNormForward& kernel, Columns<vectors> columns, std::size_t c) {
  const std::size_t channels = kernel.shape.channels;
  Vector mean[vectors], inverse[vectors], scale[vectors], shift[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    mean[v] = columns.read(kernel.used.data() + c, v);
    inverse[v] = columns.read(kernel.used.data() + channels + c, v);
    scale[v] = columns.read(kernel.parameters.data() + c, v);
    shift[v] = columns.read(kernel.parameters.data() + channels + c, v);
  }
  const float* x = kernel.x.data() + c;
  float* y = kernel.y.data() + c;
  for (std::size_t i = 0; i < kernel.shape.rows; ++i, x += channels, y += channels)
    for (std::size_t v = 0; v < vectors; ++v)
      columns.write(activate<f>(scale[v] * ((columns.read(x, v) - mean[v]) * inverse[v]) + shift[v]), y, v);
}

/// Calls with(channel, sum of dy·normalised x, sum of dy).
template <class Kernel, std::size_t vectors, class F>
void sum_gradients(const Kernel& kernel, Columns<vectors> columns, std::size_t c, const F& with) {
  const std::size_t channels = kernel.shape.channels;
  Vector mean[vectors], inverse[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    mean[v] = columns.read(kernel.used.data() + c, v);
    inverse[v] = columns.read(kernel.used.data() + channels + c, v);
  }
  Wide along[vectors], sum[vectors];
  const float *x = kernel.x.data() + c, *dy = kernel.dy.data() + c;
  for (std::size_t i = 0; i < kernel.shape.rows; ++i, x += channels, dy += channels)
    for (std::size_t v = 0; v < vectors; ++v) {
      const Wide d = Wide::of(columns.read(dy, v));
      along[v] += d * Wide::of((columns.read(x, v) - mean[v]) * inverse[v]);
      sum[v] += d;
    }
  for (std::size_t v = 0; v < vectors; ++v)
    for (std::size_t l = 0; l < columns.lanes_of(v); ++l) with(c + v * lanes + l, v, l, along[v][l], sum[v][l]);
}

/// dx from the means of dy·normalised x and of dy.
template <class Kernel, std::size_t vectors>
void take_from_gradient(const Kernel& kernel, Columns<vectors> columns, std::size_t c, const Vector* mean_along,
                        const Vector* mean_dy) {
  const std::size_t channels = kernel.shape.channels;
  Vector mean[vectors], inverse[vectors], factor[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    mean[v] = columns.read(kernel.used.data() + c, v);
    inverse[v] = columns.read(kernel.used.data() + channels + c, v);
    factor[v] = columns.read(kernel.parameters.data() + c, v) * inverse[v];
  }
  const float *x = kernel.x.data() + c, *dy = kernel.dy.data() + c;
  float* dx = kernel.dx.data() + c;
  for (std::size_t i = 0; i < kernel.shape.rows; ++i, x += channels, dy += channels, dx += channels)
    for (std::size_t v = 0; v < vectors; ++v) {
      const Vector normal = (columns.read(x, v) - mean[v]) * inverse[v];
      const Vector d = factor[v] * (columns.read(dy, v) - mean_dy[v] - normal * mean_along[v]);
      columns.write(kernel.keep == 0 ? d : kernel.keep * columns.read(dx, v) + d, dx, v);
    }
}

template <std::size_t vectors>
void backward(const BatchNormBackward& kernel, Columns<vectors> columns, std::size_t c) {
  Vector mean_along[vectors] = {}, mean_dy[vectors] = {};
  const double rows = static_cast<double>(kernel.shape.rows);
  sum_gradients(kernel, columns, c, [&](std::size_t channel, std::size_t v, std::size_t lane, double along, double sum) {
    kernel.add_to_parameters(channel, along, sum);
    mean_along[v][lane] = static_cast<float>(along / rows);
    mean_dy[v][lane] = static_cast<float>(sum / rows);
  });
  if (!kernel.dx.empty()) take_from_gradient(kernel, columns, c, mean_along, mean_dy);
}

template <std::size_t vectors>
void backward(const SyncBatchNormBackward& kernel, Columns<vectors> columns, std::size_t c) {
  Vector mean_along[vectors] = {}, mean_dy[vectors] = {};
  for (std::size_t v = 0; v < vectors; ++v)
    for (std::size_t l = 0; l < columns.lanes_of(v); ++l) {
      const auto [along, dy] = kernel.take(c + v * lanes + l, {});
      mean_along[v][l] = along;
      mean_dy[v][l] = dy;
    }
  take_from_gradient(kernel, columns, c, mean_along, mean_dy);
}

}  // namespace

void run(Workspace&, const BatchNormForward& kernel) {
  if (!kernel.training)
    for (std::size_t c = 0; c < kernel.shape.channels; ++c)
      kernel.use(c, kernel.running[c], kernel.running[kernel.shape.channels + c]);
  with_fused(kernel.f, [&]<Activation f>() {
    for_columns(kernel.shape.channels, [&](auto columns, std::size_t c) {
      if (kernel.training)
        sum_distances(kernel.shape, kernel.x, columns, c, [&](auto... sums) { kernel.use_minibatch(sums...); });
      normalise<f>(kernel, columns, c);
    });
  });
}

void run(Workspace&, const BatchNormBackward& kernel) {
  for_columns(kernel.shape.channels, [&](auto columns, std::size_t c) { backward(kernel, columns, c); });
}

void run(Workspace&, const BatchMoments& kernel) {
  for_columns(kernel.shape.channels, [&](auto columns, std::size_t c) {
    sum_distances(kernel.shape, kernel.x, columns, c, [&](auto... sums) { kernel.finish(sums...); });
  });
}

void run(Workspace&, const BatchNormSums& kernel) {
  for_columns(kernel.shape.channels, [&](auto columns, std::size_t c) {
    sum_gradients(kernel, columns, c, [&](std::size_t channel, std::size_t, std::size_t, double along, double sum) {
      kernel.finish(channel, along, sum);
    });
  });
}

void run(Workspace&, const SyncBatchNormBackward& kernel) {
  for_columns(kernel.shape.channels, [&](auto columns, std::size_t c) { backward(kernel, columns, c); });
}

}  // namespace paragrad::backend::cpu
