#pragma once

#include <cstddef>
#include <span>

#include "backend/device.hpp"
#include "comm/compression/gradient_sum.hpp"

namespace paragrad::comm::compression {

/// A range of the gradient that one worker sums for all.
struct Stripe {
  core::Range range;                   ///< of the gradient
  std::vector<core::Matrix> matrices;  ///< its parts of matrices, whole columns; positions relative to range.begin
};

/// A lossy encoding of a stripe, always of the same size in bytes. Calls kernels and nothing else, so that it may run under
/// Communicator::run_kernels.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual Grain grain() const = 0;

  virtual std::size_t bytes(const Stripe& stripe) const = 0;  ///< a multiple of 4

  /// u = x + residual; packed = encode(u); residual = u - decode(packed). With an empty residual u = x, and the error is
  /// dropped.
  virtual void encode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const float> x, std::span<float> residual,
                      std::span<std::byte> packed) const = 0;

  /// x = keep·x + decode(packed); keep is 0 or 1.
  virtual void decode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const std::byte> packed, float keep,
                      std::span<float> x) const = 0;
};

}  // namespace paragrad::comm::compression
