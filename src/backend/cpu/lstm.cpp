#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/transpose.hpp"
#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {
namespace {

constexpr std::size_t line = 16;  // floats

constexpr std::size_t whole_lines(std::size_t count) { return (count + line - 1) / line * line; }

Vector sigmoid(Vector z) { return activate<Activation::sigmoid>(z); }

/// Reads and writes up to `lanes` cells at a time.
class Lanes {
 public:
  explicit Lanes(std::size_t count) : count_(count) {}
  Vector read(const float* from) const { return count_ == lanes ? load(from) : load_part(from, count_); }
  Vector read_or_zero(const float* from) const { return from == nullptr ? Vector{} : read(from); }
  void write(Vector v, float* to) const { count_ == lanes ? store(v, to) : store_part(v, to, count_); }

 private:
  std::size_t count_;
};

/// Calls visit(first cell, Lanes).
template <class Visit>
void for_cells(std::size_t cells, const Visit& visit) {
  std::size_t k = 0;
  for (; k + lanes <= cells; k += lanes) visit(k, Lanes(lanes));
  if (k < cells) visit(k, Lanes(cells - k));
}

const float* at(const float* array, std::size_t offset) { return array == nullptr ? nullptr : array + offset; }

/// i f g o, c and m of one frame. before: c of the step before, or null. peepholes: [3][cells], or null.
void step_frame(std::size_t cells, const float* peepholes, const float* before, float* gates, float* c, float* m) {
  for_cells(cells, [&](std::size_t k, Lanes part) {
    float* at_gates = gates + k;
    const Vector old = part.read_or_zero(at(before, k));
    Vector z_i = part.read(at_gates), z_f = part.read(at_gates + cells), z_o = part.read(at_gates + 3 * cells);
    if (peepholes != nullptr) {
      z_i = multiply_add(part.read(peepholes + k), old, z_i);
      z_f = multiply_add(part.read(peepholes + cells + k), old, z_f);
    }
    const Vector i = sigmoid(z_i), f = sigmoid(z_f), g = hyperbolic_tangent(part.read(at_gates + 2 * cells));
    const Vector now = multiply_add(f, old, i * g);
    if (peepholes != nullptr) z_o = multiply_add(part.read(peepholes + 2 * cells + k), now, z_o);
    const Vector o = sigmoid(z_o);
    part.write(i, at_gates);
    part.write(f, at_gates + cells);
    part.write(g, at_gates + 2 * cells);
    part.write(o, at_gates + 3 * cells);
    part.write(now, c + k);
    part.write(o * hyperbolic_tangent(now), m + k);
  });
}

/// Replaces gates with their gradients; dc passes from this step to the previous one. dm: gradient with respect to m.
void step_frame_back(std::size_t cells, const float* peepholes, const float* before, const float* c, const float* dm,
                     float* gates, float* dc) {
  for_cells(cells, [&](std::size_t k, Lanes part) {
    float* at_gates = gates + k;
    const Vector old = part.read_or_zero(at(before, k)), squashed = hyperbolic_tangent(part.read(c + k));
    const Vector i = part.read(at_gates), f = part.read(at_gates + cells), g = part.read(at_gates + 2 * cells),
                 o = part.read(at_gates + 3 * cells), d = part.read(dm + k);
    const Vector d_o = d * squashed * (o * (1.f - o));
    Vector d_c = part.read(dc + k) + d * o * (1.f - squashed * squashed);
    if (peepholes != nullptr) d_c += d_o * part.read(peepholes + 2 * cells + k);
    const Vector d_i = d_c * g * (i * (1.f - i)), d_f = d_c * old * (f * (1.f - f)), d_g = d_c * i * (1.f - g * g);
    Vector d_before = d_c * f;
    if (peepholes != nullptr) d_before += d_i * part.read(peepholes + k) + d_f * part.read(peepholes + cells + k);
    part.write(d_i, at_gates);
    part.write(d_f, at_gates + cells);
    part.write(d_g, at_gates + 2 * cells);
    part.write(d_o, at_gates + 3 * cells);
    part.write(d_before, dc + k);
  });
}

float* scratch(Workspace& workspace, std::size_t count) {
  if (workspace.lstm.size() < count) workspace.lstm = core::host_arena(count);
  return workspace.lstm.span().data();
}

/// One direction's part of all arrays; rows are strides apart.
struct Direction {
  const LstmShape& shape;
  std::size_t d;

  std::size_t width() const { return 4 * shape.cells; }
  float* gates(const LstmMemory& memory, std::size_t row) const {
    return memory.gates.data() + row * shape.gate_width() + d * width();
  }
  float* cells(const LstmMemory& memory, std::size_t row) const {
    return memory.cells.data() + row * shape.cell_width() + d * shape.cells;
  }
  template <class Float>
  Float* outputs(Float* y, std::size_t row) const {
    return y + row * shape.output_width() + d * shape.outputs;
  }
  /// m, which is h where nothing is projected.
  float* hidden(const LstmMemory& memory, float* y, std::size_t row) const {
    return shape.projected ? memory.hidden.data() + row * shape.cell_width() + d * shape.cells : outputs(y, row);
  }
  const float* cells_before(const LstmMemory& memory, const Steps::Step& step, std::size_t s) const {
    return s < step.rows_continue ? cells(memory, step.row_before + s) : nullptr;
  }
  template <class Float>
  Float* recurrent(std::span<Float> weights) const {
    return weights.data() + d * shape.outputs * width();
  }
  template <class Float>
  Float* peepholes(std::span<Float> weights) const {
    return shape.peepholes ? weights.data() + d * 3 * shape.cells : nullptr;
  }
  template <class Float>
  Float* projection(std::span<Float> weights) const {
    return shape.projected ? weights.data() + d * shape.cells * shape.outputs : nullptr;
  }
};

/// into[3][cells] = keep·into + the contribution of a direction's frames.
void peephole_gradient(const Direction& in, const Steps& steps, const LstmMemory& memory, float keep, float* into) {
  const std::size_t cells = in.shape.cells;
  for (std::size_t j = 0; j < 3 * cells; ++j) into[j] = keep == 0 ? 0 : keep * into[j];
  steps.walk(in.shape.runs_back(in.d), true, [&](const Steps::Step& step) {
    for (std::size_t s = 0; s < step.rows; ++s) {
      const float *dz = in.gates(memory, step.row + s), *c = in.cells(memory, step.row + s);
      const float* before = in.cells_before(memory, step, s);
      for_cells(cells, [&](std::size_t k, Lanes part) {
        const Vector old = part.read_or_zero(at(before, k));
        part.write(multiply_add(part.read(dz + k), old, part.read(into + k)), into + k);
        part.write(multiply_add(part.read(dz + cells + k), old, part.read(into + cells + k)), into + cells + k);
        part.write(multiply_add(part.read(dz + 3 * cells + k), part.read(c + k), part.read(into + 2 * cells + k)),
                   into + 2 * cells + k);
      });
    }
  });
}

}  // namespace

// Per step one product of all sequences with the recurrent weights, which stay in the L2 cache between steps, and one pass
// over the gates. A row's bits do not depend on the other sequences.
void run(Workspace& workspace, const LstmForward& kernel) {
  const auto& [shape, steps, weights, memory, all_y] = kernel;
  PackBuffer& buffer = workspace.packed;
  float* const y = all_y.data();
  for (std::size_t d = 0; d < shape.directions; ++d) {
    const Direction in{shape, d};
    steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
      multiply(buffer, step.rows_continue, in.width(), shape.outputs, {in.outputs(y, step.row_before), shape.output_width()},
               {in.recurrent(weights.recurrent), in.width()}, 1, in.gates(memory, step.row), shape.gate_width(), nullptr);
      for (std::size_t s = 0; s < step.rows; ++s)
        step_frame(shape.cells, in.peepholes(weights.peepholes), in.cells_before(memory, step, s),
                   in.gates(memory, step.row + s), in.cells(memory, step.row + s), in.hidden(memory, y, step.row + s));
      if (shape.projected)
        multiply(buffer, step.rows, shape.outputs, shape.cells, {in.hidden(memory, y, step.row), shape.cell_width()},
                 {in.projection(weights.projection), shape.outputs}, 0, in.outputs(y, step.row), shape.output_width(),
                 nullptr);
    });
  }
}

// Weights are transposed once, so that every step can read them in place.
void run(Workspace& workspace, const LstmBackward& kernel) {
  const auto& [shape, steps, weights, memory, all_dy] = kernel;
  PackBuffer& buffer = workspace.packed;
  float* const dy = all_dy.data();
  const std::size_t cells = shape.cells, outputs = shape.outputs;
  const std::size_t most_rows = steps.most_rows(), states = whole_lines(most_rows * cells);
  float* recurrent =
      scratch(workspace, whole_lines(4 * cells * outputs) + whole_lines(shape.projected ? cells * outputs : 0) + 2 * states);
  float* projection = recurrent + whole_lines(4 * cells * outputs);
  float* dc = projection + whole_lines(shape.projected ? cells * outputs : 0);
  float* dm = dc + states;
  for (std::size_t d = 0; d < shape.directions; ++d) {
    const Direction in{shape, d};
    transpose(outputs, in.width(), in.recurrent(weights.recurrent), in.width(), recurrent, outputs);
    if (shape.projected) transpose(cells, outputs, in.projection(weights.projection), outputs, projection, cells);
    std::fill_n(dc, states, 0.f);
    steps.walk(shape.runs_back(d), false, [&](const Steps::Step& step) {
      if (shape.projected)
        multiply(buffer, step.rows, cells, outputs, {in.outputs(dy, step.row), shape.output_width()}, {projection, cells}, 0,
                 dm);
      for (std::size_t s = 0; s < step.rows; ++s)
        step_frame_back(cells, in.peepholes(weights.peepholes), in.cells_before(memory, step, s),
                        in.cells(memory, step.row + s), shape.projected ? dm + s * cells : in.outputs(dy, step.row + s),
                        in.gates(memory, step.row + s), dc + s * cells);
      multiply(buffer, step.rows_continue, outputs, in.width(), {in.gates(memory, step.row), shape.gate_width()},
               {recurrent, outputs}, 1, in.outputs(dy, step.row_before), shape.output_width(), nullptr);
    });
  }
}

void run(Workspace& workspace, const LstmGradient& kernel) {
  const auto& [shape, steps, all_y, memory, all_dy, keep, gradients] = kernel;
  PackBuffer& buffer = workspace.packed;
  const float *const y = all_y.data(), *const dy = all_dy.data();
  const std::size_t cells = shape.cells, outputs = shape.outputs, frames = steps.frames();
  float* before = scratch(workspace, frames * outputs);  // h of the step before, of all frames of a direction
  for (std::size_t d = 0; d < shape.directions; ++d) {
    const Direction in{shape, d};
    steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
      for (std::size_t s = 0; s < step.rows; ++s) {
        float* to = before + (step.row + s) * outputs;
        if (s < step.rows_continue)
          std::copy_n(in.outputs(y, step.row_before + s), outputs, to);
        else
          std::fill_n(to, outputs, 0.f);
      }
    });
    multiply(buffer, outputs, in.width(), frames, {before, outputs, Transpose::yes},
             {in.gates(memory, 0), shape.gate_width()}, keep, in.recurrent(gradients.recurrent));
    if (shape.projected)
      multiply(buffer, cells, outputs, frames, {memory.hidden.data() + d * cells, shape.cell_width(), Transpose::yes},
               {in.outputs(dy, 0), shape.output_width()}, keep, in.projection(gradients.projection));
    if (shape.peepholes) peephole_gradient(in, steps, memory, keep, in.peepholes(gradients.peepholes));
  }
}

}  // namespace paragrad::backend::cpu
