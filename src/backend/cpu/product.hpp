#pragma once

#include <cstddef>

#include "backend/kernels/gemm.hpp"
#include "core/arena.hpp"

namespace paragrad::backend::cpu {

/// A matrix in memory, or its transpose: element (i, j) is data[i·stride + j], or data[j·stride + i].
struct Operand {
  const float* data;
  std::size_t stride;
  Transpose transpose = Transpose::no;
};

/// Scratch memory for packed operands, allocated on first use. One per device object.
class PackBuffer {
 public:
  float* left();   ///< [depth_block] × [few_rows], 64-byte aligned
  float* right();  ///< [depth_block] × [column_block], 64-byte aligned

 private:
  core::Arena memory_;
};

/// Applied to rows [row, row + rows) and columns [column, column + columns) of C when their sums are complete, while they
/// are in the cache.
class Finish {
 public:
  virtual ~Finish() = default;

  /// A matrix of C's shape that will be read: large ones are prefetched while the sums are computed. May be null.
  virtual const float* reads() const = 0;
  virtual void operator()(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) const = 0;
};

/// C[m][n] = A·B + keep·C on row-major C without padding (the blocking of Goto and van de Geijn, ACM TOMS 34(3), 2008).
///
/// Element (i, j) is a chain of multiply-adds over k in ascending order, split at points that depend on k alone. Its bits do
/// not depend on its position in C, so a row of C does not depend on which other rows are computed in the same call.
void multiply(PackBuffer& buffer, std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float keep, float* c,
              const Finish* finish = nullptr);

/// The same for a C with row stride c_stride floats.
void multiply(PackBuffer& buffer, std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float keep, float* c,
              std::size_t c_stride, const Finish* finish);

/// "AVX-512", "AVX2" or "portable"
const char* instruction_set();

}  // namespace paragrad::backend::cpu
