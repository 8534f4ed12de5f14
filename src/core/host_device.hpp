#pragma once

#include <cstddef>
#include <cstdint>

/// Marks a function that is compiled for both CPU and GPU from the same source.
#ifdef __CUDACC__
#define PARAGRAD_HOST_DEVICE __host__ __device__
#else
#define PARAGRAD_HOST_DEVICE
#endif

namespace paragrad::core {

struct Division {
  std::size_t quotient, remainder;
};

/// a / b and a % b. A GPU divides 64-bit numbers several times slower than 32-bit ones, and indices rarely exceed 32 bits.
PARAGRAD_HOST_DEVICE inline Division divide(std::size_t a, std::size_t b) {
#ifdef __CUDA_ARCH__
  if ((a | b) >> 32 == 0) {
    const auto short_a = static_cast<std::uint32_t>(a), short_b = static_cast<std::uint32_t>(b),
               quotient = short_a / short_b;
    return {quotient, short_a - quotient * short_b};
  }
#endif
  return {a / b, a % b};
}

}  // namespace paragrad::core
