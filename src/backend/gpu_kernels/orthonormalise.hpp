#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/kernels/orthonormalise.hpp"

namespace paragrad::backend::gpu_kernels {

/// One block: each column depends on the previous ones, and low-rank matrices are small.
struct OrthonormaliseInOneBlock {
  static constexpr const char* name = "orthonormalise";
  static constexpr std::uint32_t threads = 512;
  struct Shared {
    double sums[threads];
  };

  std::size_t rows, rank;
  float* matrix;  ///< [rows][rank]

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const auto product = [&](const float* a, const float* b) {
      const auto term = [&](std::size_t r) { return static_cast<double>(a[r * rank]) * static_cast<double>(b[r * rank]); };
      return reduce(block, rows, 0.0, shared.sums, term, Sum{});
    };
    const auto subtract = [&](float factor, const float* from, float* to) {
      block.each_of(rows, [&](std::size_t r) { to[r * rank] -= factor * from[r * rank]; });
    };
    const auto scale = [&](float factor, float* to) { block.each_of(rows, [&](std::size_t r) { to[r * rank] *= factor; }); };
    const auto replace = [&](std::size_t j, float* to) {
      block.each_of(rows, [&](std::size_t r) { to[r * rank] = direction_element(r, j); });
    };
    orthonormalise_columns(1, rank, matrix, product, subtract, scale, replace);
  }
};

// ---- bodies ----

void run(auto& gpu, const Orthonormalise& kernel) {
  if (!kernel.matrix.empty()) gpu(OrthonormaliseInOneBlock{kernel.rows, kernel.rank, kernel.matrix.data()});
}

}  // namespace paragrad::backend::gpu_kernels
