#pragma once

#include <cmath>
#include <vector>

#include "backend/lstm_arguments.hpp"
#include "backend/reference/loops.hpp"

/// The LSTM kernels, frame by frame and cell by cell, over any real type.
namespace paragrad::backend::reference {

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
  Real *gates, *cells, *hidden, *y;

  LstmCell<Real> at(const Steps::Step& step, std::size_t s) const {
    const std::size_t d = direction, row = step.row + s, before = step.row_before + s;
    LstmCell<Real> cell{};
    cell.gates = gates + row * shape.gate_width() + d * 4 * shape.cells;
    cell.c = cells + row * shape.cell_width() + d * shape.cells;
    cell.h = y + row * shape.output_width() + d * shape.outputs;
    cell.hidden = shape.projected ? hidden + row * shape.cell_width() + d * shape.cells : cell.h;
    if (s < step.rows_continue) {
      cell.c_before = cells + before * shape.cell_width() + d * shape.cells;
      cell.h_before = y + before * shape.output_width() + d * shape.outputs;
    }
    return cell;
  }
};

/// A direction's part of the parameters.
template <class Real>
struct LstmParameters {
  const Real *recurrent, *peepholes, *projection;

  formulas::Peepholes<Real> of_cell(std::size_t k, std::size_t cells) const {
    if (peepholes == nullptr) return {};
    return {peepholes[k], peepholes[cells + k], peepholes[2 * cells + k]};
  }
};

template <class Real>
LstmParameters<Real> of_direction(const LstmShape& shape, std::size_t d, const Real* recurrent, const Real* peepholes,
                                  const Real* projection) {
  return {recurrent + d * shape.outputs * 4 * shape.cells, shape.peepholes ? peepholes + d * 3 * shape.cells : nullptr,
          shape.projected ? projection + d * shape.cells * shape.outputs : nullptr};
}

template <class Real>
void lstm_forward_frame(const LstmShape& shape, const LstmParameters<Real>& p, const LstmCell<Real>& at) {
  const std::size_t cells = shape.cells, outputs = shape.outputs;
  for (std::size_t j = 0; j < 4 * cells && at.h_before != nullptr; ++j)
    for (std::size_t r = 0; r < outputs; ++r) at.gates[j] += at.h_before[r] * p.recurrent[r * 4 * cells + j];
  for (std::size_t k = 0; k < cells; ++k) {
    const Real before = at.c_before == nullptr ? Real(0) : at.c_before[k];
    Real *i = at.gates + k, *f = i + cells, *g = f + cells, *o = g + cells;
    formulas::lstm_forward(p.of_cell(k, cells), before, *i, *f, *g, *o, at.c[k], at.hidden[k]);
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
    formulas::lstm_backward(p.of_cell(k, cells), before, at.c[k], dm, dc[k], *i, *f, *g, *o);
  }
  for (std::size_t r = 0; r < outputs && dh_before != nullptr; ++r)
    for (std::size_t j = 0; j < 4 * cells; ++j) dh_before[r] += at.gates[j] * p.recurrent[r * 4 * cells + j];
}

template <class Real>
void lstm_forward(const LstmShape& shape, const Steps& steps, const Real* recurrent, const Real* peepholes,
                  const Real* projection, Real* gates, Real* cells, Real* hidden, Real* y) {
  for (std::size_t d = 0; d < shape.directions; ++d) {
    const LstmArrays<Real> arrays{shape, d, gates, cells, hidden, y};
    const auto parameters = of_direction(shape, d, recurrent, peepholes, projection);
    steps.walk(d == 1, true, [&](const Steps::Step& step) {
      for (std::size_t s = 0; s < step.rows; ++s) lstm_forward_frame(shape, parameters, arrays.at(step, s));
    });
  }
}

template <class Real>
void lstm_backward(const LstmShape& shape, const Steps& steps, const Real* recurrent, const Real* peepholes,
                   const Real* projection, Real* gates, Real* cells, Real* hidden, Real* dy) {
  for (std::size_t d = 0; d < shape.directions; ++d) {
    const LstmArrays<Real> arrays{shape, d, gates, cells, hidden, dy};
    const auto parameters = of_direction(shape, d, recurrent, peepholes, projection);
    std::vector<Real> dc(steps.frames() * shape.cells);  // one row per sequence is used
    steps.walk(d == 1, false, [&](const Steps::Step& step) {
      for (std::size_t s = 0; s < step.rows; ++s) {
        const LstmCell<Real> at = arrays.at(step, s);
        Real* dh_before = at.h_before == nullptr ? nullptr : dy + (at.h_before - dy);
        lstm_backward_frame(shape, parameters, at, dc.data() + s * shape.cells, dh_before);
      }
    });
  }
}

template <class Real>
void lstm_gradient(const LstmShape& shape, const Steps& steps, const Real* y, const Real* gates, const Real* cells,
                   const Real* hidden, const Real* dy, Real keep, Real* recurrent, Real* peepholes, Real* projection) {
  const std::size_t n = shape.cells, outputs = shape.outputs;
  const auto begin = [&](std::size_t count, Real* into) {
    for (std::size_t i = 0; i < count; ++i) into[i] = accumulate(Real(0), keep, into[i]);
  };
  begin(shape.recurrent_size(), recurrent);
  begin(shape.peephole_size(), peepholes);
  begin(shape.projection_size(), projection);
  for (std::size_t d = 0; d < shape.directions; ++d) {
    steps.walk(d == 1, true, [&](const Steps::Step& step) {
      for (std::size_t s = 0; s < step.rows; ++s) {
        const std::size_t row = step.row + s, before = step.row_before + s;
        const bool continues = s < step.rows_continue;
        const Real* dz = gates + row * shape.gate_width() + d * 4 * n;
        const Real* h_before = y + before * shape.output_width() + d * outputs;
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

}  // namespace paragrad::backend::reference
