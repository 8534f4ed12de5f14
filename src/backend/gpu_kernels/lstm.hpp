#pragma once

#include <cstdint>
#include <vector>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/lstm.hpp"

/// Long short-term memory (backend/kernels/lstm.hpp), step by step: a product for the recurrent input, then all cells in
/// parallel.
namespace paragrad::backend::gpu_kernels {

/// The arrays of one direction, and the strides between their frames.
struct LstmDirection {
  std::size_t cells, outputs, gate_row, cell_row, output_row;
  float *gates, *c, *m, *h;
  const float *recurrent, *peepholes, *projection;  // the last two may be nullptr

  LstmDirection(const LstmShape& shape, std::size_t d, const LstmWeights& weights, const LstmMemory& memory, float* y)
      : cells(shape.cells),
        outputs(shape.outputs),
        gate_row(shape.gate_width()),
        cell_row(shape.cell_width()),
        output_row(shape.output_width()),
        gates(memory.gates.data() + d * 4 * cells),
        c(memory.cells.data() + d * cells),
        m(shape.projected ? memory.hidden.data() + d * cells : y + d * outputs),
        h(y + d * outputs),
        recurrent(weights.recurrent.data() + d * outputs * 4 * cells),
        peepholes(shape.peepholes ? weights.peepholes.data() + d * 3 * cells : nullptr),
        projection(shape.projected ? weights.projection.data() + d * cells * outputs : nullptr) {}

  PARAGRAD_HOST_DEVICE LstmPeepholes<float> peepholes_of(std::size_t k) const {
    if (peepholes == nullptr) return {};
    return {peepholes[k], peepholes[cells + k], peepholes[2 * cells + k]};
  }
};

/// The cells of a step, [rows][cells].
struct LstmCellsForward {
  static constexpr const char* name = "lstm_forward";
  LstmDirection at;
  Steps::Step step;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t s = i / at.cells, k = i % at.cells, row = step.row + s;
    const float before = s < step.rows_continue ? at.c[(step.row_before + s) * at.cell_row + k] : 0.f;
    float* const gate = at.gates + row * at.gate_row + k;
    const std::size_t m_row = at.projection == nullptr ? at.output_row : at.cell_row;
    lstm_cell_forward(at.peepholes_of(k), before, gate[0], gate[at.cells], gate[2 * at.cells], gate[3 * at.cells],
                      at.c[row * at.cell_row + k], at.m[row * m_row + k]);
  }
};

/// The backward pass of these cells. dm: gradient with respect to m, [rows][dm_row]; dc[sequences][cells].
struct LstmCellsBackward {
  static constexpr const char* name = "lstm_backward";
  LstmDirection at;
  Steps::Step step;
  const float* dm;
  std::size_t dm_row;
  float* dc;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t s = i / at.cells, k = i % at.cells, row = step.row + s;
    const float before = s < step.rows_continue ? at.c[(step.row_before + s) * at.cell_row + k] : 0.f;
    float* const gate = at.gates + row * at.gate_row + k;
    lstm_cell_backward(at.peepholes_of(k), before, at.c[row * at.cell_row + k], dm[s * dm_row + k], dc[i], gate[0],
                       gate[at.cells], gate[2 * at.cells], gate[3 * at.cells]);
  }
};

inline constexpr std::uint32_t no_frame = 0xFFFFFFFF;

/// into[frames][outputs] = h of the frame before each frame, or zeros.
struct OutputsBefore {
  static constexpr const char* name = "lstm_gradient";
  std::size_t outputs, output_row;
  const std::uint32_t* before;  // [frames] index of the previous frame
  const float* h;
  float* into;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::uint32_t frame = before[i / outputs];
    into[i] = frame == no_frame ? 0.f : h[frame * output_row + i % outputs];
  }
};

/// into[3][cells] = keep·into + gradients of the peepholes, one thread each.
struct PeepholeGradient {
  static constexpr const char* name = "lstm_gradient";
  std::size_t frames, cells, gate_row, cell_row;
  const std::uint32_t* before;
  const float *gates, *c;
  float keep;
  float* into;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const std::size_t which = i / cells, k = i % cells, gate = which == 2 ? 3 : which;
    float sum = 0;
    for (std::size_t frame = 0; frame < frames; ++frame) {
      const std::size_t seen = which == 2 ? frame : before[frame];
      if (seen != no_frame) sum += gates[frame * gate_row + gate * cells + k] * c[seen * cell_row + k];
    }
    into[i] = accumulate(sum, keep, into[i]);
  }
};

/// Runtime runs kernels and products, and runs the directions concurrently.
template <class Runtime>
void lstm_forward(Runtime& runtime, const LstmShape& shape, const Steps& steps, const LstmWeights& weights,
                  const LstmMemory& memory, float* y) {
  runtime.side_by_side(shape.directions, [&](std::size_t d) {
    const LstmDirection at(shape, d, weights, memory, y);
    steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
      if (step.rows_continue > 0)
        runtime.multiply({step.rows_continue,
                          4 * at.cells,
                          at.outputs,
                          {at.h + step.row_before * at.output_row, at.output_row},
                          {at.recurrent, 4 * at.cells},
                          1,
                          at.gates + step.row * at.gate_row,
                          at.gate_row});
      runtime.run(Stream<LstmCellsForward>{step.rows * at.cells, {at, step}});
      if (shape.projected)
        runtime.multiply({step.rows,
                          at.outputs,
                          at.cells,
                          {at.m + step.row * at.cell_row, at.cell_row},
                          {at.projection, at.outputs},
                          0,
                          at.h + step.row * at.output_row,
                          at.output_row});
    });
  });
}

/// Elements of the scratch memory of lstm_backward: dc for each direction and, with projection, dm.
inline std::size_t lstm_backward_scratch(const LstmShape& shape, const Steps& steps) {
  return shape.directions * (shape.projected ? 2 : 1) * steps.most_rows() * shape.cells;
}

template <class Runtime>
void lstm_backward(Runtime& runtime, const LstmShape& shape, const Steps& steps, const LstmWeights& weights,
                   const LstmMemory& memory, float* scratch, float* dy) {
  const std::size_t cells_of_a_step = steps.most_rows() * shape.cells;
  runtime.side_by_side(shape.directions, [&](std::size_t d) {
    const LstmDirection at(shape, d, weights, memory, dy);
    float* const dc = scratch + d * (shape.projected ? 2 : 1) * cells_of_a_step;
    float* const dm = dc + cells_of_a_step;
    runtime.run(elements_of(Fill{0, {dc, cells_of_a_step}}));
    steps.walk(shape.runs_back(d), false, [&](const Steps::Step& step) {
      float* const dh = at.h + step.row * at.output_row;
      if (shape.projected)
        runtime.multiply({step.rows,
                          at.cells,
                          at.outputs,
                          {dh, at.output_row},
                          {at.projection, at.outputs, Transpose::yes},
                          0,
                          dm,
                          at.cells});
      runtime.run(Stream<LstmCellsBackward>{
          step.rows * at.cells, {at, step, shape.projected ? dm : dh, shape.projected ? at.cells : at.output_row, dc}});
      if (step.rows_continue > 0)
        runtime.multiply({step.rows_continue,
                          at.outputs,
                          4 * at.cells,
                          {at.gates + step.row * at.gate_row, at.gate_row},
                          {at.recurrent, 4 * at.cells, Transpose::yes},
                          1,
                          at.h + step.row_before * at.output_row,
                          at.output_row});
    });
  });
}

/// The frame before each frame in each direction, [directions][frames], which lstm_gradient needs in device memory.
inline std::vector<std::uint32_t> frames_before(const LstmShape& shape, const Steps& steps) {
  std::vector<std::uint32_t> before(shape.directions * steps.frames(), no_frame);
  for (std::size_t d = 0; d < shape.directions; ++d)
    steps.walk(shape.runs_back(d), true, [&](const Steps::Step& step) {
      for (std::size_t s = 0; s < step.rows_continue; ++s)
        before[d * steps.frames() + step.row + s] = static_cast<std::uint32_t>(step.row_before + s);
    });
  return before;
}

/// scratch: memory for [directions][frames][outputs].
template <class Runtime>
void lstm_gradient(Runtime& runtime, const LstmShape& shape, std::size_t frames, const std::uint32_t* before, const float* y,
                   const LstmMemory& memory, const float* dy, float keep, float* scratch, const LstmGradients& gradients) {
  const std::size_t n = shape.cells, outputs = shape.outputs;
  runtime.side_by_side(shape.directions, [&](std::size_t d) {
    const float* const dz = memory.gates.data() + d * 4 * n;
    const std::uint32_t* const of_direction = before + d * frames;
    float* const h_before = scratch + d * frames * outputs;
    runtime.run(
        Stream<OutputsBefore>{frames * outputs, {outputs, shape.output_width(), of_direction, y + d * outputs, h_before}});
    runtime.multiply({outputs,
                      4 * n,
                      frames,
                      {h_before, outputs, Transpose::yes},
                      {dz, shape.gate_width()},
                      keep,
                      gradients.recurrent.data() + d * outputs * 4 * n,
                      4 * n});
    if (shape.peepholes)
      runtime.run(Stream<PeepholeGradient>{3 * n,
                                           {frames, n, shape.gate_width(), shape.cell_width(), of_direction, dz,
                                            memory.cells.data() + d * n, keep, gradients.peepholes.data() + d * 3 * n}});
    if (shape.projected)
      runtime.multiply({n,
                        outputs,
                        frames,
                        {memory.hidden.data() + d * n, shape.cell_width(), Transpose::yes},
                        {dy + d * outputs, shape.output_width()},
                        keep,
                        gradients.projection.data() + d * n * outputs,
                        outputs});
  });
}

// ---- bodies ----

void run(auto& gpu, const LstmForward& kernel) {
  const auto& [shape, steps, weights, memory, y] = kernel;
  lstm_forward(gpu.runtime(), shape, steps, weights, memory, y.data());
}

void run(auto& gpu, const LstmBackward& kernel) {
  const auto& [shape, steps, weights, memory, dy] = kernel;
  float* const of_steps = gpu.template scratch<float>("lstm", lstm_backward_scratch(shape, steps));
  lstm_backward(gpu.runtime(), shape, steps, weights, memory, of_steps, dy.data());
}

void run(auto& gpu, const LstmGradient& kernel) {
  const LstmShape& shape = kernel.shape;
  const Steps& steps = kernel.steps;
  float* const before = gpu.template scratch<float>("lstm", shape.directions * steps.frames() * shape.outputs);
  StepTables& before_steps = gpu.before[shape.reverse ? 2 : shape.directions - 1];
  const std::uint32_t* const frames = before_steps.of(steps.active(), [&] { return frames_before(shape, steps); });
  lstm_gradient(gpu.runtime(), shape, steps.frames(), frames, kernel.y.data(), kernel.memory, kernel.dy.data(), kernel.keep,
                before, kernel.gradients);
}

}  // namespace paragrad::backend::gpu_kernels
