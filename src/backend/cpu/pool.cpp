#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// A register of neighbouring channels at a time.
namespace paragrad::backend::cpu {
namespace {

/// Calls with(window, output), both of channel 0, for all positions of the window.
template <class F>
void for_positions(const PoolShape& shape, const F& with) {
  PoolShape::Place window{};
  for (window.row = 0; window.row < shape.rows; ++window.row)
    for (window.y = 0; window.y < shape.down.steps; ++window.y)
      for (window.x = 0; window.x < shape.across.steps; ++window.x) with(window, shape.output_at(window));
}

/// Calls with(first channel, number of channels) for registers of channels.
template <class F>
void for_registers(std::size_t channels, const F& with) {
  for (std::size_t c = 0; c < channels; c += lanes) with(c, std::min(lanes, channels - c));
}

Vector read(const float* from, std::size_t count) { return count == lanes ? load(from) : load_part(from, count); }
void write(Vector v, float* to, std::size_t count) { count == lanes ? store(v, to) : store_part(v, to, count); }

void begin_gradient(float keep, std::span<float> dx) {
  if (keep == 0)
    std::ranges::fill(dx, 0.f);
  else if (keep != 1)
    transform(
        dx.size(), dx.data(), [&](Vector d) { return keep * d; }, dx.data());
}

void finish_gradient(Activation f, std::span<const float> x, std::span<float> dx) {
  with_fused(f, [&]<Activation constant>() {
    if constexpr (constant != Activation::identity)
      transform(dx.size(), dx.data(), times_slope<constant>, dx.data(), x.data());
  });
}

}  // namespace

void run(Workspace&, const MaxPool& kernel) {
  const PoolShape& shape = kernel.shape;
  for_positions(shape, [&](const PoolShape::Place& window, std::size_t output) {
    for_registers(shape.channels, [&](std::size_t c, std::size_t count) {
      bool first = true;
      Vector most{}, chosen{};
      shape.for_window(window, [&](std::size_t k, const PoolShape::Place& at) {
        const Vector value = read(kernel.x.data() + shape.input_at(at) + c, count);
        const Integers larger = first ? Integers{} - 1 : value > most;
        most = larger ? value : most;
        chosen = larger ? broadcast(static_cast<float>(k)) : chosen;
        first = false;
      });
      write(most, kernel.y.data() + output + c, count);
      write(chosen, kernel.chosen.data() + output + c, count);
    });
  });
}

void run(Workspace&, const MaxPoolBackward& kernel) {
  const PoolShape& shape = kernel.shape;
  begin_gradient(kernel.keep, kernel.dx);
  for_positions(shape, [&](const PoolShape::Place& window, std::size_t output) {
    for_registers(shape.channels, [&](std::size_t c, std::size_t count) {
      const Vector dy = read(kernel.dy.data() + output + c, count), chosen = read(kernel.chosen.data() + output + c, count);
      shape.for_window(window, [&](std::size_t k, const PoolShape::Place& at) {
        float* dx = kernel.dx.data() + shape.input_at(at) + c;
        write(read(dx, count) + (chosen == static_cast<float>(k) ? dy : Vector{}), dx, count);
      });
    });
  });
  finish_gradient(kernel.f, kernel.x, kernel.dx);
}

void run(Workspace&, const MeanPool& kernel) {
  const PoolShape& shape = kernel.shape;
  for_positions(shape, [&](const PoolShape::Place& window, std::size_t output) {
    const float inside = static_cast<float>(shape.inside(window));
    for_registers(shape.channels, [&](std::size_t c, std::size_t count) {
      Vector sum{};
      shape.for_window(window, [&](std::size_t, const PoolShape::Place& at) {
        sum += read(kernel.x.data() + shape.input_at(at) + c, count);
      });
      write(sum / inside, kernel.y.data() + output + c, count);
    });
  });
}

void run(Workspace&, const MeanPoolBackward& kernel) {
  const PoolShape& shape = kernel.shape;
  begin_gradient(kernel.keep, kernel.dx);
  for_positions(shape, [&](const PoolShape::Place& window, std::size_t output) {
    const float inside = static_cast<float>(shape.inside(window));
    for_registers(shape.channels, [&](std::size_t c, std::size_t count) {
      const Vector share = read(kernel.dy.data() + output + c, count) / inside;
      shape.for_window(window, [&](std::size_t, const PoolShape::Place& at) {
        float* dx = kernel.dx.data() + shape.input_at(at) + c;
        write(read(dx, count) + share, dx, count);
      });
    });
  });
  finish_gradient(kernel.f, kernel.x, kernel.dx);
}

}  // namespace paragrad::backend::cpu
