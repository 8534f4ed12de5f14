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

/// Whether all channels of these arrays come in aligned fours. Arrays that are not used may be nullptr.
inline bool come_in_fours(std::size_t channels, std::initializer_list<const float*> arrays) {
  return channels % 4 == 0 && std::ranges::all_of(arrays, [](const float* array) {
           return reinterpret_cast<std::uintptr_t>(array) % alignof(Lanes<float, 4>) == 0;
         });
}

}  // namespace paragrad::backend
