#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/multiplication.hpp"

/// Products of matrices whose rows do not all begin at 16 bytes, such as logits of an odd number of classes. cuBLAS then has
/// only tensor-core kernels that load single numbers, a quarter as fast: copying the matrices to aligned rows costs less.
namespace paragrad::backend::gpu_kernels {

/// into[rows][columns] = keep·into + from[rows][columns], with the given distances between rows.
struct CopyMatrix {
  static constexpr const char* name = "aligning a matrix";
  static constexpr std::uint32_t threads = 256, columns_of_a_block = 8 * threads;
  using Shared = Nothing;

  std::size_t rows, columns;
  const float* from;
  std::size_t from_row;
  float keep;
  float* into;
  std::size_t into_row;
  std::size_t blocks_of_a_row = blocks_for(columns, columns_of_a_block);

  std::size_t blocks() const { return rows * blocks_of_a_row; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    const std::size_t row = block.index / blocks_of_a_row, first = block.index % blocks_of_a_row * columns_of_a_block;
    block.each([&](std::uint32_t thread) {
      for (std::size_t j = first + thread; j < columns && j < first + columns_of_a_block; j += threads) {
        float& element = into[row * into_row + j];
        element = accumulate(from[row * from_row + j], keep, element);
      }
    });
  }
};

class AlignedProduct {
 public:
  /// Whether the copies take less time than they save: where each of their elements takes part in enough multiplications.
  static bool pays(const Multiplication& p) {
    constexpr std::size_t least_side = 256, least_multiplications = std::size_t{1} << 30;
    const bool aligned = is_aligned(p.a.row) && is_aligned(p.b.row) && is_aligned(p.c_row);
    return !aligned && std::min({p.m, p.n, p.k}) >= least_side && p.m * p.n * p.k >= least_multiplications;
  }

  explicit AlignedProduct(const Multiplication& wanted) : wanted_(wanted), made_(wanted) {}

  /// The memory that it needs.
  std::size_t floats() const { return a_floats() + b_floats() + c_floats(); }

  template <class Run>
  void copy_from(const Run& run, float* memory) {
    copy(run, wanted_.a, wanted_.m, wanted_.k, a_floats(), memory, made_.a);
    copy(run, wanted_.b, wanted_.k, wanted_.n, b_floats(), memory + a_floats(), made_.b);
    if (c_floats() == 0) return;
    made_.c = memory + a_floats() + b_floats();
    made_.c_row = aligned(wanted_.n);
    made_.keep = 0;
  }
  const Multiplication& product() const { return made_; }
  template <class Run>
  void copy_back(const Run& run) const {
    if (c_floats() > 0) run(CopyMatrix{wanted_.m, wanted_.n, made_.c, made_.c_row, wanted_.keep, wanted_.c, wanted_.c_row});
  }

 private:
  static constexpr std::size_t alignment = 4;  // floats in 16 bytes
  static bool is_aligned(std::size_t row) { return row % alignment == 0; }
  static std::size_t aligned(std::size_t row) { return (row + alignment - 1) / alignment * alignment; }

  std::size_t a_floats() const { return floats_of(wanted_.a, wanted_.m, wanted_.k); }
  std::size_t b_floats() const { return floats_of(wanted_.b, wanted_.k, wanted_.n); }
  std::size_t c_floats() const {
    return is_aligned(wanted_.c_row) || adds_before_bias() ? 0 : wanted_.m * aligned(wanted_.n);
  }

  /// A bias is added, and f applied, after the old C.
  bool adds_before_bias() const { return wanted_.keep != 0 && wanted_.bias != nullptr; }

  struct Stored {
    std::size_t rows, columns;
  };
  static Stored stored(const Multiplication::Input& input, std::size_t rows, std::size_t columns) {
    return input.transpose == Transpose::no ? Stored{rows, columns} : Stored{columns, rows};
  }
  static std::size_t floats_of(const Multiplication::Input& input, std::size_t rows, std::size_t columns) {
    const Stored matrix = stored(input, rows, columns);
    return is_aligned(input.row) ? 0 : matrix.rows * aligned(matrix.columns);
  }
  template <class Run>
  static void copy(const Run& run, const Multiplication::Input& from, std::size_t rows, std::size_t columns,
                   std::size_t floats, float* into, Multiplication::Input& made) {
    if (floats == 0) return;
    const Stored matrix = stored(from, rows, columns);
    made.data = into;
    made.row = aligned(matrix.columns);
    run(CopyMatrix{matrix.rows, matrix.columns, from.data, from.row, 0, into, made.row});
  }

  Multiplication wanted_, made_;
};

}  // namespace paragrad::backend::gpu_kernels
