#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/steps.hpp"

namespace paragrad::backend {

/// A layer of long short-term memory (Hochreiter and Schmidhuber 1997; forget gates: Gers, Schmidhuber and Cummins 2000;
/// peepholes: Gers, Schraudolph and Schmidhuber 2002; projection: Sak, Senior and Beaufays, Interspeech 2014). With H cells,
/// R outputs and the input's contribution z = x·W + b, for each direction
///
///   i = σ(z_i + h₋·U_i + p_i∘c₋)   f = σ(z_f + h₋·U_f + p_f∘c₋)   g = tanh(z_g + h₋·U_g)
///   c = f∘c₋ + i∘g                 o = σ(z_o + h₋·U_o + p_o∘c)    m = o∘tanh(c)   h = m, or m·V with projection
///
/// where c₋ and h₋ belong to the previous step and are zero at the beginning of a sequence.
struct LstmShape {
  std::size_t cells = 0;       ///< H
  std::size_t outputs = 0;     ///< R per direction; equals cells without projection
  std::size_t directions = 1;  ///< 2: the second runs from the last step to the first
  bool peepholes = false;
  bool projected = false;
  bool reverse = false;  ///< a single direction, which runs from the last step to the first

  bool runs_back(std::size_t direction) const { return reverse || direction == 1; }
  std::size_t gate_width() const { return directions * 4 * cells; }  ///< of all gates of a frame, i f g o
  std::size_t cell_width() const { return directions * cells; }
  std::size_t output_width() const { return directions * outputs; }
  std::size_t hidden_width() const { return projected ? cell_width() : 0; }
  std::size_t recurrent_size() const { return directions * outputs * 4 * cells; }
  std::size_t peephole_size() const { return peepholes ? directions * 3 * cells : 0; }
  std::size_t projection_size() const { return projected ? directions * cells * outputs : 0; }
};

/// Parameters, or their gradients.
template <class Float>
struct LstmWeightsOf {
  std::span<Float> recurrent;   ///< U, [directions][R][4][H]
  std::span<Float> peepholes;   ///< p, [directions][3][H]: i f o; or empty
  std::span<Float> projection;  ///< V, [directions][H][R]; or empty

  LstmWeightsOf<const Float> read() const { return {recurrent, peepholes, projection}; }
};
using LstmWeights = LstmWeightsOf<const float>;
using LstmGradients = LstmWeightsOf<float>;

/// What the forward pass saves for the backward pass.
template <class Real>
struct LstmMemoryOf {
  std::span<Real>
      gates;  ///< [frames][directions][4][H]: z before; i f g o after; gradients with respect to z after the backward pass
  std::span<Real> cells;   ///< c, [frames][directions][H]
  std::span<Real> hidden;  ///< m, [frames][directions][H] with projection; otherwise empty
};
using LstmMemory = LstmMemoryOf<float>;

// ---- one cell ----

/// The contribution of peepholes, if any, to the gates of a cell.
template <class Real>
struct LstmPeepholes {
  Real i = 0, f = 0, o = 0;
};

/// Forward pass of one LSTM cell, from z to values; `before` is c₋, m the gated output.
template <class Real>
PARAGRAD_HOST_DEVICE void lstm_cell_forward(const LstmPeepholes<Real>& p, Real before, Real& i, Real& f, Real& g, Real& o,
                                            Real& c, Real& m) {
  i = activate(Activation::sigmoid, i + p.i * before);
  f = activate(Activation::sigmoid, f + p.f * before);
  g = std::tanh(g);
  c = f * before + i * g;
  o = activate(Activation::sigmoid, o + p.o * c);
  m = o * std::tanh(c);
}

/// Backward pass of one cell, from values to gradients with respect to z. dm: gradient with respect to m; dc: with respect
/// to c, from the next step; on return for the previous step.
template <class Real>
PARAGRAD_HOST_DEVICE void lstm_cell_backward(const LstmPeepholes<Real>& p, Real before, Real c, Real dm, Real& dc, Real& i,
                                             Real& f, Real& g, Real& o) {
  const Real squashed = std::tanh(c);
  const Real d_o = dm * squashed * slope(Activation::sigmoid, o);
  const Real d_c = dc + dm * o * (1 - squashed * squashed) + d_o * p.o;
  const Real d_i = d_c * g * slope(Activation::sigmoid, i);
  const Real d_f = d_c * before * slope(Activation::sigmoid, f);
  const Real d_g = d_c * i * slope(Activation::tanh, g);
  dc = d_c * f + d_i * p.i + d_f * p.f;
  i = d_i;
  f = d_f;
  g = d_g;
  o = d_o;
}

// ---- one frame, cell by cell ----

/// Pointers to the values of one frame of one direction. The `before` pointers are null at the beginning of a sequence.
template <class Real>
struct LstmCell {
  Real *gates, *c, *hidden, *h;
  const Real *c_before, *h_before;
};

template <class Real>
struct LstmArrays {
  const LstmShape& shape;
  std::size_t direction;
  const LstmMemoryOf<Real>& memory;
  Real* y;

  LstmCell<Real> at(const Steps::Step& step, std::size_t s) const {
    const std::size_t d = direction, row = step.row + s, before = step.row_before + s;
    LstmCell<Real> cell{};
    cell.gates = memory.gates.data() + row * shape.gate_width() + d * 4 * shape.cells;
    cell.c = memory.cells.data() + row * shape.cell_width() + d * shape.cells;
    cell.h = y + row * shape.output_width() + d * shape.outputs;
    cell.hidden = shape.projected ? memory.hidden.data() + row * shape.cell_width() + d * shape.cells : cell.h;
    if (s < step.rows_continue) {
      cell.c_before = memory.cells.data() + before * shape.cell_width() + d * shape.cells;
      cell.h_before = y + before * shape.output_width() + d * shape.outputs;
    }
    return cell;
  }
};

/// A direction's part of the parameters.
template <class Real>
struct LstmParameters {
  const Real *recurrent, *peepholes, *projection;

  LstmParameters(const LstmShape& shape, std::size_t d, const LstmWeightsOf<const Real>& all)
      : recurrent(all.recurrent.data() + d * shape.outputs * 4 * shape.cells),
        peepholes(shape.peepholes ? all.peepholes.data() + d * 3 * shape.cells : nullptr),
        projection(shape.projected ? all.projection.data() + d * shape.cells * shape.outputs : nullptr) {}

  LstmPeepholes<Real> of_cell(std::size_t k, std::size_t cells) const {
    if (peepholes == nullptr) return {};
    return {peepholes[k], peepholes[cells + k], peepholes[2 * cells + k]};
  }
};

template <class Real>
void lstm_forward_frame(const LstmShape& shape, const LstmParameters<Real>& p, const LstmCell<Real>& at) {
  const std::size_t cells = shape.cells, outputs = shape.outputs;
  for (std::size_t j = 0; j < 4 * cells && at.h_before != nullptr; ++j)
    for (std::size_t r = 0; r < outputs; ++r) at.gates[j] += at.h_before[r] * p.recurrent[r * 4 * cells + j];
  for (std::size_t k = 0; k < cells; ++k) {
    const Real before = at.c_before == nullptr ? Real(0) : at.c_before[k];
    Real *i = at.gates + k, *f = i + cells, *g = f + cells, *o = g + cells;
    lstm_cell_forward(p.of_cell(k, cells), before, *i, *f, *g, *o, at.c[k], at.hidden[k]);
  }
  for (std::size_t r = 0; r < outputs && shape.projected; ++r) {
    at.h[r] = 0;
    for (std::size_t k = 0; k < cells; ++k) at.h[r] += at.hidden[k] * p.projection[k * outputs + r];
  }
}

/// `at` holds values, except h, which is the gradient with respect to h; c_after: gradient with respect to c from the next
/// step, replaced by that for the previous step. Gates are replaced by their gradients, and dh_before is accumulated.
template <class Real>
void lstm_backward_frame(const LstmShape& shape, const LstmParameters<Real>& p, const LstmCell<Real>& at, Real* dc,
                         Real* dh_before) {
  const std::size_t cells = shape.cells, outputs = shape.outputs;
  for (std::size_t k = 0; k < cells; ++k) {
    Real dm = shape.projected ? Real(0) : at.h[k];
    for (std::size_t r = 0; r < outputs && shape.projected; ++r) dm += at.h[r] * p.projection[k * outputs + r];
    const Real before = at.c_before == nullptr ? Real(0) : at.c_before[k];
    Real *i = at.gates + k, *f = i + cells, *g = f + cells, *o = g + cells;
    lstm_cell_backward(p.of_cell(k, cells), before, at.c[k], dm, dc[k], *i, *f, *g, *o);
  }
  for (std::size_t r = 0; r < outputs && dh_before != nullptr; ++r)
    for (std::size_t j = 0; j < 4 * cells; ++j) dh_before[r] += at.gates[j] * p.recurrent[r * 4 * cells + j];
}

// ---- the kernels ----

/// For calibration: a projected layer of one direction, whose products are of the given size, with 16 sequences of equal
/// length, or fewer.
struct LstmExample {
  LstmShape shape;
  Steps steps;
  LstmMemory memory;
  std::span<float> y;  ///< and in the place of its gradient

  LstmExample(ExampleMemory& from, std::size_t frames, std::size_t outputs, std::size_t columns)
      : shape{.cells = std::max<std::size_t>(1, columns / 5), .outputs = outputs, .projected = true},
        steps(std::vector(frames / std::min<std::size_t>(frames, 16),
                          static_cast<std::uint32_t>(std::min<std::size_t>(frames, 16)))) {
    const std::size_t gates = shape.gate_width(), cells = shape.cell_width();
    const auto of_frames = [&](std::size_t begin, std::size_t width) {
      return from.all_activations().subspan(steps.frames() * begin, steps.frames() * width);
    };
    memory = {of_frames(0, gates), of_frames(gates, cells), of_frames(gates + cells, cells)};
    y = of_frames(gates + 2 * cells, outputs);
  }

  LstmGradients weights(ExampleMemory& from) const {
    return {from.parameters(shape.recurrent_size()), {}, from.parameters(shape.projection_size())};
  }
};

inline constexpr std::uint64_t squash_operations = 20;  ///< an exponential and a division

template <class Weights, class Real>
void check_lstm(KernelId kernel, const LstmShape& shape, const Steps& steps, const Weights& weights,
                const LstmMemoryOf<Real>& memory) {
  if (shape.directions < 1 || shape.directions > (shape.reverse ? 1 : 2) ||
      (!shape.projected && shape.outputs != shape.cells))
    throw std::logic_error(std::string(kernel_name(kernel)) + ": impossible shape");
  expect_size(kernel, "recurrent", weights.recurrent.size(), shape.recurrent_size());
  expect_size(kernel, "peepholes", weights.peepholes.size(), shape.peephole_size());
  expect_size(kernel, "projection", weights.projection.size(), shape.projection_size());
  expect_size(kernel, "gates", memory.gates.size(), steps.frames() * shape.gate_width());
  expect_size(kernel, "cells", memory.cells.size(), steps.frames() * shape.cell_width());
  expect_size(kernel, "hidden", memory.hidden.size(), steps.frames() * shape.hidden_width());
}

/// The products, and `flops` operations and `accesses` per cell and frame.
inline KernelCost lstm_cost(const LstmShape& shape, std::uint64_t frames, std::uint64_t flops, std::uint64_t accesses) {
  KernelCost cost = product_cost(frames, shape.outputs, shape.cell_width() * (shape.projected ? 5 : 4));
  cost.work += streaming_cost(frames * shape.cell_width(), flops, accesses).work;
  return cost;
}

/// Fills gates, which hold z on entry, cells, hidden and y[frames][directions][R], for sequences laid out as in Steps. A
/// row's values do not depend on the other sequences.
template <class Real>
struct LstmForwardOf {
  static constexpr KernelId id = KernelId::lstm_forward;

  LstmShape shape;
  Steps steps;
  LstmWeightsOf<const Real> weights;
  LstmMemoryOf<Real> memory;
  std::span<Real> y;

  void check() const {
    check_lstm(id, shape, steps, weights, memory);
    expect_size(id, "y", y.size(), steps.frames() * shape.output_width());
  }
  KernelCost cost() const { return lstm_cost(shape, steps.frames(), 5 * squash_operations + 4, 10); }
  void reference() const {
    for (std::size_t d = 0; d < shape.directions; ++d) {
      const LstmArrays<Real> arrays{shape, d, memory, y.data()};
      const LstmParameters<Real> parameters(shape, d, weights);
      steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
        for (std::size_t s = 0; s < step.rows; ++s) lstm_forward_frame(shape, parameters, arrays.at(step, s));
      });
    }
  }
  static Example<LstmForwardOf> example(ExampleMemory& memory, std::size_t frames, std::size_t outputs,
                                        std::size_t columns) {
    return [&memory, at = LstmExample(memory, frames, outputs, columns)] {
      return LstmForwardOf{at.shape, at.steps, at.weights(memory).read(), at.memory, at.y};
    };
  }
};
using LstmForward = LstmForwardOf<float>;

/// Backpropagation through time. dy holds the gradient with respect to y on entry, and on return also includes the
/// contributions of later steps; gates hold the gradient with respect to z on return.
template <class Real>
struct LstmBackwardOf {
  static constexpr KernelId id = KernelId::lstm_backward;

  LstmShape shape;
  Steps steps;
  LstmWeightsOf<const Real> weights;
  LstmMemoryOf<Real> memory;
  std::span<Real> dy;

  void check() const {
    check_lstm(id, shape, steps, weights, memory);
    expect_size(id, "dy", dy.size(), steps.frames() * shape.output_width());
  }
  KernelCost cost() const { return lstm_cost(shape, steps.frames(), squash_operations + 25, 13); }
  void reference() const {
    for (std::size_t d = 0; d < shape.directions; ++d) {
      const LstmArrays<Real> arrays{shape, d, memory, dy.data()};
      const LstmParameters<Real> parameters(shape, d, weights);
      std::vector<Real> dc(steps.frames() * shape.cells);  // one row per sequence is used
      steps.walk(shape.runs_back(d), false, [&](const Steps::Step& step) {
        for (std::size_t s = 0; s < step.rows; ++s) {
          const LstmCell<Real> at = arrays.at(step, s);
          Real* dh_before = at.h_before == nullptr ? nullptr : dy.data() + (at.h_before - dy.data());
          lstm_backward_frame(shape, parameters, at, dc.data() + s * shape.cells, dh_before);
        }
      });
    }
  }
  static Example<LstmBackwardOf> example(ExampleMemory& memory, std::size_t frames, std::size_t outputs,
                                         std::size_t columns) {
    return [&memory, at = LstmExample(memory, frames, outputs, columns)] {
      return LstmBackwardOf{at.shape, at.steps, at.weights(memory).read(), at.memory, at.y};
    };
  }
};
using LstmBackward = LstmBackwardOf<float>;

/// gradients = keep·gradients + the gradient of the weights, from y and from memory and dy after the backward pass.
template <class Real>
struct LstmGradientOf {
  static constexpr KernelId id = KernelId::lstm_gradient;

  LstmShape shape;
  Steps steps;
  std::span<const Real> y;
  LstmMemoryOf<Real> memory;
  std::span<const Real> dy;
  Real keep;
  LstmWeightsOf<Real> gradients;

  void check() const {
    check_lstm(id, shape, steps, gradients, memory);
    expect_size(id, "y", y.size(), steps.frames() * shape.output_width());
    expect_size(id, "dy", dy.size(), steps.frames() * shape.output_width());
  }
  KernelCost cost() const { return lstm_cost(shape, steps.frames(), shape.peepholes ? 6 : 0, shape.peepholes ? 6 : 0); }
  void reference() const {
    const std::size_t n = shape.cells, outputs = shape.outputs;
    const auto &gates = memory.gates, &cells = memory.cells, &hidden = memory.hidden;
    const auto& [recurrent, peepholes, projection] = gradients;
    for (const std::span<Real> into : {recurrent, peepholes, projection})
      for (Real& sum : into) sum = accumulate(Real(0), keep, sum);
    for (std::size_t d = 0; d < shape.directions; ++d) {
      steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
        for (std::size_t s = 0; s < step.rows; ++s) {
          const std::size_t row = step.row + s, before = step.row_before + s;
          const bool continues = s < step.rows_continue;
          const Real* dz = gates.data() + row * shape.gate_width() + d * 4 * n;
          const Real* h_before = y.data() + before * shape.output_width() + d * outputs;
          for (std::size_t r = 0; r < outputs && continues; ++r)
            for (std::size_t j = 0; j < 4 * n; ++j) recurrent[(d * outputs + r) * 4 * n + j] += h_before[r] * dz[j];
          for (std::size_t k = 0; k < n && shape.peepholes; ++k) {
            const Real c_before = continues ? cells[before * shape.cell_width() + d * n + k] : Real(0);
            peepholes[(d * 3 + 0) * n + k] += dz[k] * c_before;
            peepholes[(d * 3 + 1) * n + k] += dz[n + k] * c_before;
            peepholes[(d * 3 + 2) * n + k] += dz[3 * n + k] * cells[row * shape.cell_width() + d * n + k];
          }
          for (std::size_t k = 0; k < n && shape.projected; ++k)
            for (std::size_t r = 0; r < outputs; ++r)
              projection[(d * n + k) * outputs + r] +=
                  hidden[row * shape.cell_width() + d * n + k] * dy[row * shape.output_width() + d * outputs + r];
        }
      });
    }
  }
  static Example<LstmGradientOf> example(ExampleMemory& memory, std::size_t frames, std::size_t outputs,
                                         std::size_t columns) {
    return [&memory, at = LstmExample(memory, frames, outputs, columns)] {
      return LstmGradientOf{at.shape, at.steps, at.y, at.memory, at.y, Real(0.9), at.weights(memory)};
    };
  }
};
using LstmGradient = LstmGradientOf<float>;

}  // namespace paragrad::backend
