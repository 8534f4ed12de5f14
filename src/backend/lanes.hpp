#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/host_device.hpp"

namespace paragrad::backend {

/// Neighbouring numbers that a thread treats together: one index calculation and one access for all.
template <class Real, std::size_t lanes>
struct alignas(lanes * sizeof(Real)) Lanes {
  Real of[lanes];

  PARAGRAD_HOST_DEVICE static Lanes load(const Real* from) { return *reinterpret_cast<const Lanes*>(from); }
  PARAGRAD_HOST_DEVICE void store(Real* to) const { *reinterpret_cast<Lanes*>(to) = *this; }
};

/// sum + keep·old, where `old` points to the old numbers, which are not read if keep is 0.
template <class Real, std::size_t lanes>
PARAGRAD_HOST_DEVICE Lanes<Real, lanes> accumulate(Lanes<Real, lanes> sum, Real keep, const Real* old) {
  if (keep == 0) return sum;
  const auto before = Lanes<Real, lanes>::load(old);
  for (std::size_t lane = 0; lane < lanes; ++lane) sum.of[lane] = keep * before.of[lane] + sum.of[lane];
  return sum;
}

/// Whether arrays of `count` elements, or rows of `count` channels, come in aligned fours. Arrays that are not used may be
/// nullptr.
inline bool come_in_fours(std::size_t count, std::initializer_list<const float*> arrays) {
  return count % 4 == 0 && std::ranges::all_of(arrays, [](const float* array) {
           return reinterpret_cast<std::uintptr_t>(array) % alignof(Lanes<float, 4>) == 0;
         });
}

}  // namespace paragrad::backend
