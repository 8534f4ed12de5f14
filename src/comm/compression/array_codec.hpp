#pragma once

#include "comm/compression/striped.hpp"

namespace paragrad::comm::compression {

/// A codec that encodes the arrays of a stripe one after the other: its matrices, unless it says otherwise.
class ArrayCodec : public Codec {
 public:
  Grain grain() const override { return Grain::column; }

  std::size_t bytes(const Stripe& stripe) const final {
    std::size_t sum = 0;
    for (const core::Matrix& array : arrays(stripe)) sum += bytes_of(array);
    return sum;
  }

  void encode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const float> x, std::span<float> residual,
              std::span<std::byte> packed) const final {
    for (const core::Matrix& array : arrays(stripe)) {
      const core::Range range = array.range();
      encode_array(queue, array, range.of(x), residual.empty() ? residual : range.of(residual),
                   packed.first(bytes_of(array)));
      packed = packed.subspan(bytes_of(array));
    }
  }

  void decode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const std::byte> packed, float keep,
              std::span<float> x) const final {
    for (const core::Matrix& array : arrays(stripe)) {
      decode_array(queue, array, packed.first(bytes_of(array)), keep, array.range().of(x));
      packed = packed.subspan(bytes_of(array));
    }
  }

 private:
  virtual std::vector<core::Matrix> arrays(const Stripe& stripe) const { return stripe.matrices; }
  virtual std::size_t bytes_of(const core::Matrix& array) const = 0;

  // As Codec's, of one array.
  virtual void encode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const float> x,
                            std::span<float> residual, std::span<std::byte> packed) const = 0;
  virtual void decode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const std::byte> packed,
                            float keep, std::span<float> x) const = 0;
};

}  // namespace paragrad::comm::compression
