#pragma once

#include <functional>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/gpu_kernels/streams.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/bias_gradient.hpp"

/// Sums in double whose order depends on the length alone: each thread sums elements at a fixed stride, a block sums its
/// threads, and finally one block sums the blocks.
namespace paragrad::backend::gpu_kernels {

inline constexpr std::size_t most_partial_sums = 256;

/// partial[block] = the block's part of Σ term(i).
template <class Term>
struct PartialSums {
  static constexpr const char* name = Term::name;
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    double sums[threads];
  };

  std::size_t count;
  Term term;
  double* partial;

  std::size_t blocks() const { return std::min(blocks_for(count, 8 * threads), most_partial_sums); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    block.each([&](std::uint32_t thread) {
      double sum = 0;
      const std::size_t step = static_cast<std::size_t>(block.blocks) * threads;
      for (std::size_t i = static_cast<std::size_t>(block.index) * threads + thread; i < count; i += step) sum += term(i);
      shared.sums[thread] = sum;
    });
    block.combine(shared.sums, Sum{});
    block.each([&](std::uint32_t thread) {
      if (thread == 0) partial[block.index] = shared.sums[0];
    });
  }
};

/// *into += weight·Σ partial[0 … count).
struct AddPartialSums {
  static constexpr const char* name = "sum of partial sums";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    double sums[threads];
  };

  std::size_t count;
  double weight;
  const double* partial;
  double* into;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const double sum = reduce(
        block, count, 0.0, shared.sums, [&](std::size_t i) { return partial[i]; }, Sum{});
    block.each([&](std::uint32_t thread) {
      if (thread == 0) *into += weight * sum;
    });
  }
};

/// The terms of a kernel that is a sum (backend::SumKernel).
template <class Kernel>
struct TermOf {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  Kernel kernel;
  PARAGRAD_HOST_DEVICE double operator()(std::size_t i) const { return kernel.term(i); }
};

/// partial: memory for most_partial_sums.
template <class Run, class Kernel>
void add_sum(const Run& run, const Kernel& kernel, double* partial) {
  const PartialSums<TermOf<Kernel>> sums{kernel.terms(), {kernel}, partial};
  run(sums);
  run(AddPartialSums{sums.blocks(), kernel.weight, partial, kernel.into});
}

/// partial[chunk][column] = Σ dz[row][column] over a chunk's rows.
struct PartialColumnSums {
  static constexpr const char* name = "bias_gradient";
  static constexpr std::size_t rows_per_chunk = 32;
  std::size_t rows, columns;
  const float* dz;
  float* partial;

  std::size_t chunks() const { return blocks_for(rows, rows_per_chunk); }
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    const auto [chunk, column] = core::divide(i, columns);
    const std::size_t begin = chunk * rows_per_chunk;
    const std::size_t end = begin + rows_per_chunk < rows ? begin + rows_per_chunk : rows;
    float sum = 0;
    add_in_groups(
        sum, begin, end, 1, [&](std::size_t row) { return dz[row * columns + column]; }, std::identity{});
    partial[i] = sum;
  }
};

/// into[column] = keep·into + Σ partial[chunk][column].
struct AddColumnSums {
  static constexpr const char* name = "bias_gradient";
  std::size_t chunks, columns;
  const float* partial;
  float keep;
  float* into;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t column) const {
    float sum = 0;
    add_in_groups(
        sum, 0, chunks, 1, [&](std::size_t chunk) { return partial[chunk * columns + column]; }, std::identity{});
    into[column] = accumulate(sum, keep, into[column]);
  }
};

/// Elements of the scratch memory of add_column_sums.
inline std::size_t column_sums_scratch(std::size_t rows, std::size_t columns) {
  return PartialColumnSums{rows, columns, nullptr, nullptr}.chunks() * columns;
}

/// into[columns] = keep·into + Σ over the rows of dz[rows][columns].
template <class Run>
void add_column_sums(const Run& run, std::size_t rows, std::size_t columns, const float* dz, float keep, float* partial,
                     float* into) {
  const PartialColumnSums sums{rows, columns, dz, partial};
  run(Stream<PartialColumnSums>{sums.chunks() * columns, sums});
  run(Stream<AddColumnSums>{columns, {sums.chunks(), columns, partial, keep, into}});
}

// ---- bodies ----

template <SumKernel Kernel>
void run(auto& gpu, const Kernel& kernel) {
  double* const partial = gpu.template scratch<double>("sums", most_partial_sums);
  if (kernel.terms() > 0) add_sum(gpu.runner(), kernel, partial);
}

void run(auto& gpu, const BiasGradient& kernel) {
  const auto& [batch, out, dz, keep, dbias] = kernel;
  if (out == 0) return;
  float* const partial = gpu.template scratch<float>("column sums", column_sums_scratch(batch, out));
  add_column_sums(gpu.runner(), batch, out, dz.data(), keep, partial, dbias.data());
}

}  // namespace paragrad::backend::gpu_kernels
