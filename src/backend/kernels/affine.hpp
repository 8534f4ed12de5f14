#pragma once

#include <stdexcept>

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/activation_backward.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/gemm.hpp"

namespace paragrad::backend {

/// y[batch][out] = f(x[batch][in] · w[in][out] + bias[out]); `bias` may be empty.
template <class Real>
struct AffineForwardOf {
  static constexpr KernelId id = KernelId::affine_forward;

  std::size_t batch, in, out;
  std::span<const Real> x, w, bias;
  Activation f;
  std::span<Real> y;

  void check() const {
    expect_size(id, "x", x.size(), batch * in);
    expect_size(id, "w", w.size(), in * out);
    if (!bias.empty()) expect_size(id, "bias", bias.size(), out);
    expect_size(id, "y", y.size(), batch * out);
  }
  KernelCost cost() const { return product_cost(batch, in, out); }
  void reference() const {
    GemmOf<Real>{Transpose::no, Transpose::no, batch, out, in, x, w, 0, y}.reference();
    for (std::size_t s = 0; s < batch; ++s)
      for (std::size_t j = 0; j < out; ++j)
        y[s * out + j] = activate(f, bias.empty() ? y[s * out + j] : y[s * out + j] + bias[j]);
  }
  static Example<AffineForwardOf> example(ExampleMemory& memory, std::size_t batch, std::size_t in, std::size_t out) {
    return [=, &memory] {
      return AffineForwardOf{batch,
                             in,
                             out,
                             memory.activations(0, batch * in),
                             memory.parameters(in * out),
                             memory.parameters(out),
                             Activation::relu,
                             memory.activations(1, batch * out)};
    };
  }
};
using AffineForward = AffineForwardOf<float>;

/// dx[batch][in] = (dz[batch][out] · wᵀ) ∘ f'(x), where x[batch][in] is the output of the layer below and f its
/// activation.
template <class Real>
struct AffineBackwardInputOf {
  static constexpr KernelId id = KernelId::affine_backward_input;

  std::size_t batch, in, out;
  std::span<const Real> dz, w, x;
  Activation f;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "dz", dz.size(), batch * out);
    expect_size(id, "w", w.size(), in * out);
    expect_size(id, "x", x.size(), batch * in);
    expect_size(id, "dx", dx.size(), batch * in);
  }
  KernelCost cost() const { return product_cost(batch, in, out); }
  void reference() const {
    GemmOf<Real>{Transpose::no, Transpose::yes, batch, in, out, dz, w, 0, dx}.reference();
    run_reference(ActivationBackwardOf<Real>{f, x, dx});
  }
  static Example<AffineBackwardInputOf> example(ExampleMemory& memory, std::size_t batch, std::size_t in, std::size_t out) {
    return [=, &memory] {
      return AffineBackwardInputOf{batch,
                                   in,
                                   out,
                                   memory.activations(1, batch * out),
                                   memory.parameters(in * out),
                                   memory.activations(0, batch * in),
                                   Activation::relu,
                                   memory.activations(2, batch * in)};
    };
  }
};
using AffineBackwardInput = AffineBackwardInputOf<float>;

/// dw[rows][out] = keep·dw + (xᵀ·dz)[first_row … first_row+rows), with x[batch][in] and dz[batch][out]: a panel of the
/// gradient of w[in][out]. The bits of a row do not depend on the panel in which it is computed.
template <class Real>
struct AffineBackwardWeightsOf {
  static constexpr KernelId id = KernelId::affine_backward_weights;

  std::size_t batch, in, out, first_row, rows;
  std::span<const Real> x, dz;
  Real keep;
  std::span<Real> dw;

  void check() const {
    if (rows > in || first_row > in - rows) throw std::logic_error("affine_backward_weights: rows outside the matrix");
    expect_size(id, "x", x.size(), batch * in);
    expect_size(id, "dz", dz.size(), batch * out);
    expect_size(id, "dw", dw.size(), rows * out);
  }
  KernelCost cost() const { return product_cost(batch, rows, out); }
  void reference() const {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < out; ++j) {
        Real sum = 0;
        for (std::size_t s = 0; s < batch; ++s) sum += x[s * in + first_row + i] * dz[s * out + j];
        dw[i * out + j] = accumulate(sum, keep, dw[i * out + j]);
      }
    }
  }
  static Example<AffineBackwardWeightsOf> example(ExampleMemory& memory, std::size_t batch, std::size_t in,
                                                  std::size_t out) {
    return [=, &memory] {
      return AffineBackwardWeightsOf{batch,
                                     in,
                                     out,
                                     0,
                                     in,
                                     memory.activations(0, batch * in),
                                     memory.activations(1, batch * out),
                                     Real(0.9),
                                     memory.parameters(in * out)};
    };
  }
};
using AffineBackwardWeights = AffineBackwardWeightsOf<float>;

/// The local step of a layer's weights in one kernel: AffineBackwardWeights of all rows into d[in][out], then Descend of d
/// and w[in][out]. The same work and the same bits as the two, but d and w pass through the cache only once, overlapped with
/// the arithmetic.
template <class Real>
struct AffineDescendOf {
  static constexpr KernelId id = KernelId::affine_descend;

  std::size_t batch, in, out;
  std::span<const Real> x, dz;
  Real keep, rate, decay;
  std::span<Real> d, w;

  AffineBackwardWeightsOf<Real> gradient() const { return {batch, in, out, 0, in, x, dz, keep, d}; }
  DescendOf<Real> descent() const { return {rate, decay, d, w}; }

  void check() const {
    expect_size(id, "x", x.size(), batch * in);
    expect_size(id, "dz", dz.size(), batch * out);
    expect_size(id, "d", d.size(), in * out);
    expect_size(id, "w", w.size(), in * out);
  }
  KernelCost cost() const {
    KernelCost cost = gradient().cost();
    cost.work += descent().cost().work;
    return cost;
  }
  void reference() const {
    gradient().reference();
    run_reference(descent());
  }
  static Example<AffineDescendOf> example(ExampleMemory& memory, std::size_t batch, std::size_t in, std::size_t out) {
    return [=, &memory] {
      return AffineDescendOf{
          batch,     in,         out, memory.activations(0, batch * in), memory.activations(1, batch * out),
          Real(0.9), Real(1e-6), 0,   memory.parameters(in * out),       memory.parameters(in * out)};
    };
  }
};
using AffineDescend = AffineDescendOf<float>;

/// x[batch][in] = f(y[batch][out] · w[in][out]ᵀ + bias[in]): AffineForward with transposed weights.
template <class Real>
struct AffineReverseOf {
  static constexpr KernelId id = KernelId::affine_reverse;

  std::size_t batch, in, out;
  std::span<const Real> y, w, bias;
  Activation f;
  std::span<Real> x;

  void check() const {
    expect_size(id, "y", y.size(), batch * out);
    expect_size(id, "w", w.size(), in * out);
    if (!bias.empty()) expect_size(id, "bias", bias.size(), in);
    expect_size(id, "x", x.size(), batch * in);
  }
  KernelCost cost() const { return product_cost(batch, out, in); }
  void reference() const {
    GemmOf<Real>{Transpose::no, Transpose::yes, batch, in, out, y, w, 0, x}.reference();
    for (std::size_t s = 0; s < batch; ++s)
      for (std::size_t i = 0; i < in; ++i)
        x[s * in + i] = activate(f, bias.empty() ? x[s * in + i] : x[s * in + i] + bias[i]);
  }
  static Example<AffineReverseOf> example(ExampleMemory& memory, std::size_t batch, std::size_t inner, std::size_t columns) {
    return [=, &memory] {
      return AffineReverseOf{batch,
                             columns,
                             inner,
                             memory.activations(0, batch * inner),
                             memory.parameters(inner * columns),
                             memory.parameters(columns),
                             Activation::relu,
                             memory.activations(1, batch * columns)};
    };
  }
};
using AffineReverse = AffineReverseOf<float>;

}  // namespace paragrad::backend
