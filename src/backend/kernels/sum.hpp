#pragma once

#include "backend/activation.hpp"
#include "backend/kernel.hpp"
#include "backend/lanes.hpp"

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
  bool come_in_fours() const { return backend::come_in_fours(y.size(), {a.data(), b.data(), y.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    auto sum = Lanes<Real, lanes>::load(a.data() + i);
    const auto more = Lanes<Real, lanes>::load(b.data() + i);
    for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] = activate(f, sum.of[lane] + more.of[lane]);
    sum.store(y.data() + i);
  }
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
  bool come_in_fours() const { return backend::come_in_fours(dy.size(), {dy.data(), da.data(), db.data()}); }
  template <std::size_t lanes = 1>
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const auto gradient = Lanes<Real, lanes>::load(dy.data() + i);
    accumulate(gradient, keep_a, da.data() + i).store(da.data() + i);
    accumulate(gradient, keep_b, db.data() + i).store(db.data() + i);
  }
  static Example<SumBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] {
      return SumBackwardOf{memory.activations(0, count), 0, memory.activations(1, count), 0, memory.activations(2, count)};
    };
  }
};
using SumBackward = SumBackwardOf<float>;

}  // namespace paragrad::backend
