#pragma once

#include "backend/kernels/quantise.hpp"
#include "comm/compression/striped.hpp"

namespace paragrad::comm::compression {

/// A code of few bits for pieces of equal length, of which the last of each array is shorter: see backend/quantiser.hpp,
/// whose columns they are.
class Pieces : public Codec {
 public:
  /// What is cut: all elements in a row, or each matrix by itself.
  enum class Of { elements, matrices };

  Pieces(backend::Code code, std::size_t length, Of what) : quantiser_{.code = code}, length_(length), what_(what) {}

  Grain grain() const override { return what_ == Of::elements ? Grain::element : Grain::column; }

  std::size_t bytes(const Stripe& stripe) const override {
    std::size_t sum = 0;
    over_arrays(stripe,
                [&](core::Range, std::size_t rows, std::size_t columns) { sum += quantiser_.packed_bytes(rows, columns); });
    return sum;
  }

  void encode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const float> x, std::span<float> residual,
              std::span<std::byte> packed) const override {
    over_arrays(stripe, [&](core::Range range, std::size_t rows, std::size_t columns) {
      const std::size_t bytes = quantiser_.packed_bytes(rows, columns);
      queue.run(backend::Quantise{quantiser_, rows, columns, range.of(x), residual.empty() ? residual : range.of(residual),
                                  packed.first(bytes)});
      packed = packed.subspan(bytes);
    });
  }

  void decode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const std::byte> packed, float keep,
              std::span<float> x) const override {
    over_arrays(stripe, [&](core::Range range, std::size_t rows, std::size_t columns) {
      const std::size_t bytes = quantiser_.packed_bytes(rows, columns);
      queue.run(backend::Dequantise{quantiser_, rows, columns, packed.first(bytes), keep, range.of(x)});
      packed = packed.subspan(bytes);
    });
  }

 private:
  /// Calls f(range, rows, columns): the pieces of full length, then the rest.
  template <class F>
  void cut(core::Range range, const F& f) const {
    const std::size_t pieces = range.size() / length_, rest = range.size() % length_;
    const std::size_t middle = range.end - rest;
    if (pieces > 0) f(core::Range{range.begin, middle}, length_, pieces);
    if (rest > 0) f(core::Range{middle, range.end}, rest, std::size_t{1});
  }
  template <class F>
  void over_arrays(const Stripe& stripe, const F& f) const {
    if (what_ == Of::elements) return cut({0, stripe.range.size()}, f);
    for (const core::Matrix& matrix : stripe.matrices) cut(matrix.range(), f);
  }

  backend::Quantiser quantiser_;
  std::size_t length_;
  Of what_;
};

}  // namespace paragrad::comm::compression
