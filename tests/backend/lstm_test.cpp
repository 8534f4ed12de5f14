// Long short-term memory: the reference against differences, the other devices against it, sequences together against each
// alone.
#include "backend/kernels/lstm.hpp"

#include "backend/kernels/dot.hpp"
#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

using Lengths = std::vector<std::size_t>;

std::vector<std::uint32_t> active_of(const Lengths& lengths) {
  std::vector<std::uint32_t> active;
  for (std::size_t t = 0; t < lengths.front(); ++t)
    active.push_back(static_cast<std::uint32_t>(std::ranges::count_if(lengths, [&](std::size_t n) { return n > t; })));
  return active;
}

/// Rows of one of the sequences, in the order of its frames.
std::vector<std::size_t> rows_of(const Lengths& lengths, std::size_t sequence) {
  std::vector<std::size_t> rows;
  std::size_t row = 0;
  for (const std::uint32_t rows_now : active_of(lengths)) {
    if (rows.size() < lengths[sequence]) rows.push_back(row + sequence);
    row += rows_now;
  }
  return rows;
}

template <class Real>
std::vector<Real> pick(const std::vector<Real>& all, std::size_t width, const std::vector<std::size_t>& rows) {
  std::vector<Real> picked;
  for (const std::size_t row : rows)
    for (std::size_t j = 0; j < width; ++j) picked.push_back(all[row * width + j]);
  return picked;
}

/// A layer over some sequences with all that belongs to it.
template <class Real>
struct Layer {
  using Numbers = std::vector<Real>;

  LstmShape shape;
  std::vector<std::uint32_t> active;
  std::size_t frames = Steps(active).frames();
  Numbers recurrent = random_numbers<Real>(shape.recurrent_size(), 1);
  Numbers peepholes = random_numbers<Real>(shape.peephole_size(), 2);
  Numbers projection = random_numbers<Real>(shape.projection_size(), 3);
  Numbers z = random_numbers<Real>(frames * shape.gate_width(), 4);
  Numbers by_y = random_numbers<Real>(frames * shape.output_width(), 5);
  Numbers gates{}, cells = Numbers(frames * shape.cell_width(), std::nan("")),
                   hidden = Numbers(frames * shape.hidden_width(), std::nan("")),
                   y = Numbers(frames * shape.output_width(), std::nan("")), dy{};
  Numbers d_recurrent = Numbers(recurrent.size(), std::nan("")), d_peepholes = Numbers(peepholes.size(), std::nan("")),
          d_projection = Numbers(projection.size(), std::nan(""));

  void run_loops() {
    const Steps steps(active);
    gates = z;
    const LstmWeightsOf<const Real> weights{recurrent, peepholes, projection};
    const LstmMemoryOf<Real> memory{gates, cells, hidden};
    run_reference(LstmForwardOf<Real>{shape, steps, weights, memory, y});
    dy = by_y;
    run_reference(LstmBackwardOf<Real>{shape, steps, weights, memory, dy});
    run_reference(LstmGradientOf<Real>{shape, steps, y, memory, dy, 0, {d_recurrent, d_peepholes, d_projection}});
  }

  void run(Device& device, float keep = 0) {
    gates = z;
    const LstmWeights weights{recurrent, peepholes, projection};
    const LstmMemory memory{gates, cells, hidden};
    device.run(LstmForward{shape, Steps(active), weights, memory, y});
    dy = by_y;
    device.run(LstmBackward{shape, Steps(active), weights, memory, dy});
    device.run(LstmGradient{shape, Steps(active), y, memory, dy, keep, {d_recurrent, d_peepholes, d_projection}});
  }

  /// Σ by_y·y
  double loss() {
    gates = z;
    run_reference(LstmForwardOf<Real>{shape, Steps(active), {recurrent, peepholes, projection}, {gates, cells, hidden}, y});
    double sum = 0;
    run_reference(DotOf<Real>{1, y, by_y, &sum});
    return sum;
  }

  Numbers differences(Numbers& values) {
    Numbers result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real before = values[i], step = Real(1e-5);
      values[i] = before + step;
      const double above = loss();
      values[i] = before - step;
      result[i] = static_cast<Real>((above - loss()) / (2 * step));
      values[i] = before;
    }
    return result;
  }
};

LstmShape any_shape(std::size_t cells) {
  const std::size_t directions = GENERATE(1u, 2u);
  const bool peepholes = GENERATE(false, true), projected = GENERATE(false, true);
  return {cells, projected ? cells - 1 : cells, directions, peepholes, projected};
}

}  // namespace

TEST_CASE("gradients of long short-term memory are differences of the loss, in double", "[backend]") {
  Layer<double> layer{any_shape(4), active_of({5, 3, 3, 1})};
  layer.run_loops();
  const auto dz = layer.gates, d_recurrent = layer.d_recurrent, d_peepholes = layer.d_peepholes,
             d_projection = layer.d_projection;
  CHECK(distance(dz, layer.differences(layer.z)) < 1e-8);
  CHECK(distance(d_recurrent, layer.differences(layer.recurrent)) < 1e-8);
  CHECK(distance(d_peepholes, layer.differences(layer.peepholes)) < 1e-8);
  CHECK(distance(d_projection, layer.differences(layer.projection)) < 1e-8);
}

TEST_CASE("cpu and reference agree on long short-term memory", "[backend]") {
  const std::size_t cells = GENERATE(3u, 16u, 37u);
  const Lengths lengths = GENERATE(Lengths{1}, Lengths{7, 7, 7}, Lengths{6, 5, 5, 2, 1});
  Layer<float> fast{any_shape(cells), active_of(lengths)};
  for (float& weight : fast.recurrent) weight *= 0.3f;  // or differences grow from step to step
  Layer<float> slow = fast;
  fast.run(*make_device("cpu"));
  slow.run(*make_device("reference"));
  const double tolerance = 40 * sum_tolerance(4 * cells);
  CHECK(distance(fast.y, slow.y) < tolerance);
  CHECK(distance(fast.cells, slow.cells) < tolerance);
  CHECK(distance(fast.gates, slow.gates) < tolerance);
  CHECK(distance(fast.dy, slow.dy) < tolerance);
  CHECK(distance(fast.d_recurrent, slow.d_recurrent) < 10 * tolerance);
  CHECK(distance(fast.d_peepholes, slow.d_peepholes) < 10 * tolerance);
  CHECK(distance(fast.d_projection, slow.d_projection) < 10 * tolerance);
}

TEST_CASE("sequences of unequal length give together the bits that each gives alone", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const LstmShape shape = any_shape(GENERATE(5u, 32u));
  const Lengths lengths{9, 9, 6, 4, 4, 1};
  Layer<float> together{shape, active_of(lengths)};
  together.run(*device);
  std::vector<float> summed(together.d_recurrent.size());
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto rows = rows_of(lengths, s);
    Layer<float> alone{shape, active_of({lengths[s]})};
    alone.z = pick(together.z, shape.gate_width(), rows);
    alone.by_y = pick(together.by_y, shape.output_width(), rows);
    alone.run(*device);
    CHECK(same_bits(alone.y, pick(together.y, shape.output_width(), rows)));
    CHECK(same_bits(alone.gates, pick(together.gates, shape.gate_width(), rows)));
    for (std::size_t i = 0; i < summed.size(); ++i) summed[i] += alone.d_recurrent[i];
  }
  CHECK(distance(summed, together.d_recurrent) < 1e-4);
}

TEST_CASE("the second direction is the first one on the reversed sequence", "[backend]") {
  const std::size_t frames = 6;
  LstmShape one = any_shape(4);
  if (one.directions == 2) return;
  LstmShape two = one;
  two.directions = 2;
  Layer<float> both{two, active_of({frames})}, alone{one, active_of({frames})};
  const auto half = [](const std::vector<float>& all) {
    return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  };
  alone.recurrent = half(both.recurrent);
  alone.peepholes = half(both.peepholes);
  alone.projection = half(both.projection);
  const std::size_t gates = one.gate_width(), outputs = one.output_width();
  for (std::size_t t = 0; t < frames; ++t)
    std::copy_n(both.z.begin() + static_cast<std::ptrdiff_t>((2 * t + 1) * gates), gates,
                alone.z.begin() + static_cast<std::ptrdiff_t>((frames - 1 - t) * gates));
  const auto device = make_device("reference");
  both.run(*device);
  alone.run(*device);
  for (std::size_t t = 0; t < frames; ++t)
    for (std::size_t r = 0; r < outputs; ++r)
      CHECK(both.y[(2 * t + 1) * outputs + r] == alone.y[(frames - 1 - t) * outputs + r]);
}

TEST_CASE("gradients of recurrent weights accumulate", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  Layer<float> bare{any_shape(8), active_of({4, 2})}, kept = bare;
  bare.run(*device);
  kept.d_recurrent.assign(kept.d_recurrent.size(), 2);
  kept.d_peepholes.assign(kept.d_peepholes.size(), 2);
  kept.d_projection.assign(kept.d_projection.size(), 2);
  kept.run(*device, 0.5f);
  const auto one_less = [](std::vector<float> values) {
    for (float& value : values) value -= 1;
    return values;
  };
  CHECK(distance(one_less(kept.d_recurrent), bare.d_recurrent) < 1e-5);
  CHECK(distance(one_less(kept.d_peepholes), bare.d_peepholes) < 1e-5);
  CHECK(distance(one_less(kept.d_projection), bare.d_projection) < 1e-5);
}

TEST_CASE("sequences that are not in the order of their lengths are a broken contract", "[backend]") {
  const auto device = make_device("cpu");
  const LstmShape shape{.cells = 1, .outputs = 1};
  std::vector<float> one(20);
  const std::span<float> all(one);
  const std::vector<std::uint32_t> rising{1, 2};
  CHECK_THROWS_AS(device->run(LstmForward{
                      shape, Steps(rising), {all.first(4), {}, {}}, {all.first(12), all.first(3), {}}, all.first(3)}),
                  std::logic_error);
}
