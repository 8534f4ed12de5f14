#pragma once

#include "backend/kernels/quantise.hpp"
#include "comm/compression/array_codec.hpp"

namespace paragrad::comm::compression {

/// A code of few bits for pieces of equal length, of which the last of each array is shorter: see backend/quantiser.hpp,
/// whose columns they are.
class Pieces : public ArrayCodec {
 public:
  /// What is cut: all elements in a row, or each matrix by itself.
  enum class Of { elements, matrices };

  Pieces(backend::Code code, std::size_t length, Of what) : quantiser_{.code = code}, length_(length), what_(what) {}

  Grain grain() const override { return what_ == Of::elements ? Grain::element : Grain::column; }

 private:
  std::vector<core::Matrix> arrays(const Stripe& stripe) const override {
    if (what_ == Of::matrices) return stripe.matrices;
    return {{0, {stripe.range.size(), 1}}};
  }

  /// Those of full length as the columns of a matrix, and the rest as another one; positions within the array.
  std::vector<core::Matrix> cut(const core::Matrix& array) const {
    const std::size_t size = array.shape.size(), pieces = size / length_, rest = size % length_;
    std::vector<core::Matrix> cut;
    if (pieces > 0) cut.push_back({0, {length_, pieces}});
    if (rest > 0) cut.push_back({size - rest, {rest, 1}});
    return cut;
  }

  std::size_t packed_bytes(const core::Matrix& part) const {
    return quantiser_.packed_bytes(part.shape.rows, part.shape.columns);
  }
  std::size_t bytes_of(const core::Matrix& array) const override {
    std::size_t sum = 0;
    for (const core::Matrix& part : cut(array)) sum += packed_bytes(part);
    return sum;
  }

  void encode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const float> x,
                    std::span<float> residual, std::span<std::byte> packed) const override {
    for (const core::Matrix& part : cut(array)) {
      const core::Range range = part.range();
      queue.run(backend::Quantise{quantiser_, part.shape.rows, part.shape.columns, range.of(x),
                                  residual.empty() ? residual : range.of(residual), packed.first(packed_bytes(part))});
      packed = packed.subspan(packed_bytes(part));
    }
  }
  void decode_array(backend::KernelQueue& queue, const core::Matrix& array, std::span<const std::byte> packed, float keep,
                    std::span<float> x) const override {
    for (const core::Matrix& part : cut(array)) {
      queue.run(backend::Dequantise{quantiser_, part.shape.rows, part.shape.columns, packed.first(packed_bytes(part)), keep,
                                    part.range().of(x)});
      packed = packed.subspan(packed_bytes(part));
    }
  }

  backend::Quantiser quantiser_;
  std::size_t length_;
  Of what_;
};

}  // namespace paragrad::comm::compression
