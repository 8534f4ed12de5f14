#pragma once

#include <cmath>
#include <cstdint>

#include "backend/kernels.hpp"
#include "core/host_device.hpp"

/// Per-element formulas over any real type, shared by the reference's loops and the GPU's threads. Both are compiled without
/// fused multiply-add, so everything except exp, tanh and log gives equal bits.
namespace paragrad::backend::formulas {

template <class Real>
PARAGRAD_HOST_DEVICE Real activate(Activation f, Real z) {
  switch (f) {
    case Activation::sigmoid:
      return Real(1) / (Real(1) + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::relu:
      return z < 0 ? Real(0) : z;  // NaN stays NaN
    case Activation::identity:
      break;
  }
  return z;
}

/// f' as a function of y = f(z).
template <class Real>
PARAGRAD_HOST_DEVICE Real slope(Activation f, Real y) {
  switch (f) {
    case Activation::sigmoid:
      return y * (Real(1) - y);
    case Activation::tanh:
      return Real(1) - y * y;
    case Activation::relu:
      return y > 0 ? Real(1) : Real(0);
    case Activation::identity:
      break;
  }
  return Real(1);
}

/// sum + keep·old; old is ignored if keep is 0.
template <class Real>
PARAGRAD_HOST_DEVICE Real accumulate(Real sum, Real keep, Real old) {
  return keep == 0 ? sum : keep * old + sum;
}

template <class Real>
PARAGRAD_HOST_DEVICE Real clamp(Real limit, Real x) {
  return x > limit ? limit : x < -limit ? -limit : x;
}

/// The factor that scales a row of norm √squares to `limit` if its norm is larger, otherwise 1.
template <class Real>
PARAGRAD_HOST_DEVICE Real norm_factor(double squares, Real limit) {
  const double norm = std::sqrt(squares);
  return norm > static_cast<double>(limit) ? static_cast<Real>(static_cast<double>(limit) / norm) : Real(1);
}

template <class Real>
PARAGRAD_HOST_DEVICE void descend(Real rate, Real decay, Real& d, Real& w) {
  if (decay != 0) d += decay * w;
  w -= rate * d;
}

template <class Real>
PARAGRAD_HOST_DEVICE void momentum_update(Real rate, Real momentum, bool nesterov, Real decay, Real g, Real& v, Real& w) {
  const Real gradient = decay == 0 ? g : g + decay * w;
  v = momentum * v + gradient;
  w -= rate * (nesterov ? gradient + momentum * v : v);
}

/// The constants of an AdamStep as Reals.
template <class Real>
struct Adam {
  Real rate, unbias, epsilon, beta1, gain1, beta2, gain2, scale, decay, shrink;

  explicit Adam(const AdamStep& step)
      : rate(static_cast<Real>(step.rate)),
        unbias(static_cast<Real>(step.unbias)),
        epsilon(static_cast<Real>(step.epsilon)),
        beta1(static_cast<Real>(step.beta1)),
        gain1(static_cast<Real>(1 - step.beta1)),
        beta2(static_cast<Real>(step.beta2)),
        gain2(static_cast<Real>(1 - step.beta2)),
        scale(static_cast<Real>(step.gradient_scale)),
        decay(static_cast<Real>(step.decay)),
        shrink(static_cast<Real>(step.shrink)) {}

  PARAGRAD_HOST_DEVICE void update(Real g, Real& m, Real& v, Real& w) const {
    const Real d = scale * g + decay * w;
    m = beta1 * m + gain1 * d;
    v = beta2 * v + gain2 * (d * d);
    w -= shrink * w + rate * m / (std::sqrt(unbias * v) + epsilon);
  }
};

template <class Real>
PARAGRAD_HOST_DEVICE void block_filter(Real momentum, Real rate, Real ahead_before, Real ahead, Real& average, Real& w,
                                       Real& delta) {
  const Real base = w + ahead_before * delta;
  delta = momentum * delta + rate * (average - base);
  w += delta;
  average = w + ahead * delta;
}

/// The constants of Device::moment_filter as Reals.
template <class Real>
struct MomentFilter {
  Real old, stretch, kept, gain;
  bool of_squares;

  MomentFilter(double past, double keep, bool of_squares_)
      : old(static_cast<Real>(past)),
        stretch(static_cast<Real>(1 / (1 - past))),
        kept(static_cast<Real>(keep)),
        gain(static_cast<Real>(1 - keep)),
        of_squares(of_squares_) {}

  PARAGRAD_HOST_DEVICE void filter(Real& moment, Real& base) const {
    const Real estimate = (moment - old * base) * stretch;
    base = kept * base + gain * (of_squares && estimate < 0 ? Real(0) : estimate);
    moment = base;
  }
};

/// log(1 + e^z); NaN stays NaN.
PARAGRAD_HOST_DEVICE inline double softplus(double z) { return (z < 0 ? 0 : z) + std::log1p(std::exp(-std::abs(z))); }

/// The contribution of peepholes, if any, to the gates of a cell.
template <class Real>
struct Peepholes {
  Real i = 0, f = 0, o = 0;
};

/// Forward pass of one LSTM cell (backend/lstm_arguments.hpp), from z to values; `before` is c₋, m the gated output.
template <class Real>
PARAGRAD_HOST_DEVICE void lstm_forward(const Peepholes<Real>& p, Real before, Real& i, Real& f, Real& g, Real& o, Real& c,
                                       Real& m) {
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
PARAGRAD_HOST_DEVICE void lstm_backward(const Peepholes<Real>& p, Real before, Real c, Real dm, Real& dc, Real& i, Real& f,
                                        Real& g, Real& o) {
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

}  // namespace paragrad::backend::formulas
