#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"

namespace paragrad::backend {

/// y = f(a + b)
template <class Real>
struct SumOf {
  static constexpr KernelId id = KernelId::sum;

  Activation f;
  std::span<const Real> a, b;
  std::span<Real> y;

  void check() const {
    expect_size(id, "a", a.size(), y.size());
    expect_size(id, "b", b.size(), y.size());
  }
  KernelCost cost() const { return streaming_cost(y.size(), 1, 3); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE std::span<Real> written() const { return y; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(const Loop& loop) const {
    with_activation(f, [&]<Activation constant>() { loop([&](std::size_t i) { return activate(constant, a[i] + b[i]); }); });
  }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const { y[i] = activate(f, a[i] + b[i]); }
  static Example<SumOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return SumOf{Activation::relu, memory.activations(0, count), memory.activations(1, count),
                   memory.activations(2, count)};
    };
  }
};
using Sum = SumOf<float>;

/// da = keep_a·da + dy, db = keep_b·db + dy: the gradient of a sum before its f.
template <class Real>
struct SumBackwardOf {
  static constexpr KernelId id = KernelId::sum_backward;

  std::span<const Real> dy;
  Real keep_a;
  std::span<Real> da;
  Real keep_b;
  std::span<Real> db;

  void check() const {
    expect_size(id, "da", da.size(), dy.size());
    expect_size(id, "db", db.size(), dy.size());
  }
  KernelCost cost() const { return streaming_cost(dy.size(), 1, 3 + (keep_a == 0 ? 0 : 1) + (keep_b == 0 ? 0 : 1)); }
  std::size_t elements() const { return dy.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    da[i] = accumulate(dy[i], keep_a, da[i]);
    db[i] = accumulate(dy[i], keep_b, db[i]);
  }
  static Example<SumBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return SumBackwardOf{memory.activations(0, count), 0, memory.activations(1, count), 0, memory.activations(2, count)};
    };
  }
};
using SumBackward = SumBackwardOf<float>;

}  // namespace paragrad::backend
