#pragma once

#include <algorithm>
#include <cstddef>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/multiplication.hpp"

/// Products of matrices whose rows do not come in fours of floats, such as logits of an odd number of classes. cuBLAS then
/// has only tensor-core kernels that load single numbers: copying the matrices to rows with some zeros at
/// their ends costs less.
namespace paragrad::backend::gpu_kernels {

/// into[into_rows][into_columns] = from[rows][columns] and zeros.
struct PadMatrix {
  static constexpr const char* name = "padding a matrix";
  static constexpr std::uint32_t threads = 256;
  using Shared = Nothing;

  std::size_t rows, columns;
  const float* from;
  std::size_t from_row;  ///< distance between rows
  std::size_t into_rows, into_columns;
  float* into;

  std::size_t blocks() const { return into_rows; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    const std::size_t width = block.index < rows ? columns : 0;
    const float* const old = from + block.index * from_row;
    float* const made = into + block.index * into_columns;
    block.each([&](std::uint32_t thread) {
      write_in_fours(
          thread, into_columns, threads, [&](std::size_t j) { return j < width ? old[j] : 0.f; },
          [&](std::size_t j, float value) { made[j] = value; });
    });
  }
};

/// c[m][n] = f(product[m][n] + keep·c + bias[n]), the end of a Multiplication; without a bias (nullptr) there is no f.
struct TakeFromPadded {
  static constexpr const char* name = "taking from a padded matrix";
  static constexpr std::uint32_t threads = 256;
  using Shared = Nothing;

  std::size_t m, n;
  const float* product;
  std::size_t product_row;
  float keep;
  float* c;
  std::size_t c_row;
  const float* bias;
  Activation f;

  std::size_t blocks() const { return m; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    const float* const made = product + block.index * product_row;
    float* const wanted = c + block.index * c_row;
    block.each([&](std::uint32_t thread) {
      write_in_fours(
          thread, n, threads,
          [&](std::size_t j) {
            const float sum = accumulate(made[j], keep, wanted[j]);
            return bias == nullptr ? sum : activate(f, sum + bias[j]);
          },
          [&](std::size_t j, float value) { wanted[j] = value; });
    });
  }
};

/// A product with every extent that is some matrix's row length padded to a multiple of four.
class PaddedProduct {
 public:
  /// Whether padding saves more time than the copies take: for large products with at least 256 rows and columns on every
  /// side.
  static bool pays(const Multiplication& p) {
    constexpr std::size_t least_side = 256, least_multiplications = std::size_t{1} << 30;
    return std::min({p.m, p.n, p.k}) >= least_side && p.m * p.n * p.k >= least_multiplications &&
           PaddedProduct(p).floats() > 0;
  }

  explicit PaddedProduct(const Multiplication& wanted) : wanted_(wanted), made_(wanted) {
    const bool a_has_k = wanted.a.transpose == Transpose::no, b_has_k = wanted.b.transpose == Transpose::yes;
    if (!a_has_k) made_.m = padded(wanted.m);
    made_.n = padded(wanted.n);  // which C has
    if (a_has_k || b_has_k) made_.k = padded(wanted.k);
    if (!copies_c()) return;
    made_.c_row = made_.n;
    made_.keep = 0;
    made_.bias = nullptr;
    made_.f = Activation::identity;
  }

  /// The memory that it needs; none if nothing has to be copied.
  std::size_t floats() const { return a().floats() + b().floats() + (copies_c() ? made_.m * made_.n : 0); }

  template <class Run>
  void copy_from(const Run& run, float* memory) {
    a().copy(run, memory, made_.a);
    memory += a().floats();
    b().copy(run, memory, made_.b);
    if (copies_c()) made_.c = memory + b().floats();
  }
  const Multiplication& product() const { return made_; }
  template <class Run>
  void copy_back(const Run& run) const {
    const Multiplication& p = wanted_;
    if (copies_c() && p.m * p.n > 0) run(TakeFromPadded{p.m, p.n, made_.c, made_.c_row, p.keep, p.c, p.c_row, p.bias, p.f});
  }

 private:
  static std::size_t padded(std::size_t count) { return (count + 3) / 4 * 4; }

  /// A or B as it is stored, and as it is needed.
  struct Copy {
    std::size_t rows, columns, padded_rows, padded_columns;
    Multiplication::Input from;

    std::size_t floats() const {
      const bool fits = rows == padded_rows && columns == padded_columns && from.row % 4 == 0;
      return fits ? 0 : padded_rows * padded_columns;
    }
    template <class Run>
    void copy(const Run& run, float* into, Multiplication::Input& made) const {
      if (floats() == 0) return;
      made = {into, padded_columns, from.transpose};
      run(PadMatrix{rows, columns, from.data, from.row, padded_rows, padded_columns, into});
    }
  };
  static Copy of(const Multiplication::Input& input, std::size_t rows, std::size_t columns, std::size_t made_rows,
                 std::size_t made_columns) {
    if (input.transpose == Transpose::no) return {rows, columns, made_rows, made_columns, input};
    return {columns, rows, made_columns, made_rows, input};
  }
  Copy a() const { return of(wanted_.a, wanted_.m, wanted_.k, made_.m, made_.k); }
  Copy b() const { return of(wanted_.b, wanted_.k, wanted_.n, made_.k, made_.n); }
  bool copies_c() const { return made_.m != wanted_.m || made_.n != wanted_.n || wanted_.c_row % 4 != 0; }

  Multiplication wanted_, made_;
};

}  // namespace paragrad::backend::gpu_kernels
