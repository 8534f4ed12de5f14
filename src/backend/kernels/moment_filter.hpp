#pragma once

#include "backend/kernel.hpp"

namespace paragrad::backend {

/// Rescales an exponential mean that went from `base` to `moment` with total decay `past`, to total decay `keep`:
///   estimate = (moment - past·base)/(1 - past);  moment = base = keep·base + (1 - keep)·estimate
/// of_squares: the estimate is clamped to at least 0 against rounding.
template <class Real>
struct MomentFilterOf {
  static constexpr KernelId id = KernelId::moment_filter;

  double past, keep;
  bool of_squares;
  std::span<Real> moment, base;

  void check() const { expect_size(id, "moment", moment.size(), base.size()); }
  KernelCost cost() const { return streaming_cost(base.size(), 6, 4); }
  std::size_t elements() const { return base.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    const Real stretch = static_cast<Real>(1 / (1 - past));
    const Real estimate = (moment[i] - static_cast<Real>(past) * base[i]) * stretch;
    base[i] =
        static_cast<Real>(keep) * base[i] + static_cast<Real>(1 - keep) * (of_squares && estimate < 0 ? Real(0) : estimate);
    moment[i] = base[i];
  }
  static Example<MomentFilterOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, count] { return MomentFilterOf{0.9, 0.8, true, memory.parameters(count), memory.parameters(count)}; };
  }
};
using MomentFilter = MomentFilterOf<float>;

}  // namespace paragrad::backend
