#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "backend/example_memory.hpp"
#include "core/host_device.hpp"

/// The parts of a kernel. A kernel is a value: the arguments of one call. Its file, backend/kernels/NAME.hpp, contains
/// everything about it and includes this header for all the parts; a line in backend/kernels.def registers it:
///
///   struct ScaleOf {                                   // x *= factor; a template over Real
///     static constexpr KernelId id = KernelId::scale;
///
///     Real factor;
///     std::span<Real> x;                               // spans and pointers are device memory
///
///     void check() const;                              // logic_error if arguments do not fit each other
///     KernelCost cost() const;                         // from the arguments alone
///     std::size_t elements() const;                    // the formula, once for all devices:
///     PARAGRAD_HOST_DEVICE void element(std::size_t i) const;
///     static Example<ScaleOf> example(ExampleMemory&, std::size_t count);  // calls to be timed; may be left out
///   };
///   using Scale = ScaleOf<float>;
///
/// The formula is one of
///   element(i)   for independent elements (Elementwise), with come_in_fours() and element<4>(i) also four at a time
///                (LaneKernel);
///   term(i)      of a sum: *into += weight·Σ term(i) in double (SumKernel);
///   reference()  plain loops on host memory, for everything else. A GPU needs a body of its own for these:
///                run() in backend/gpu_kernels/ (gpu_kernels/gpu_context.hpp).
///
/// Real is float on every device; tests run the same formulas in double.
namespace paragrad::backend {

/// Makes the calls that calibration times: each returns a kernel on the memory that training would use next.
template <class Kernel>
using Example = std::function<Kernel()>;

/// What the sizes of an example are, and of KernelCost::size. A kernel without a constant `example_sizes` is a product if
/// its kind is gemm, else a stream.
enum class ExampleSizes {
  stream,             ///< (elements); KernelCost::size has bytes
  product,            ///< (rows, inner, columns)
  heads_width_pairs,  ///< (heads of all sequences, numbers per head and row, pairs of a row and one not after it)
};

template <class Kernel>
concept Elementwise = requires(const Kernel& kernel, std::size_t i) {
  { kernel.elements() } -> std::convertible_to<std::size_t>;
  kernel.element(i);
};

/// An elementwise kernel with a formula for four neighbouring elements, the first of which is number i = 0, 4, …, where
/// come_in_fours() holds.
template <class Kernel>
concept LaneKernel = Elementwise<Kernel> && requires(const Kernel& kernel, std::size_t i) {
  { kernel.come_in_fours() } -> std::same_as<bool>;
  kernel.template element<4>(i);
};

template <class Kernel>
concept SumKernel = requires(const Kernel& kernel, std::size_t i) {
  { kernel.terms() } -> std::convertible_to<std::size_t>;
  { kernel.term(i) } -> std::convertible_to<double>;
  *kernel.into += kernel.weight;
};

/// The formula as plain loops, in the order of the elements.
template <class Kernel>
void run_reference(const Kernel& by_reference) {
  const Kernel kernel = by_reference;  // which the arrays that are written cannot overlap
  if constexpr (Elementwise<Kernel>) {
    const std::size_t elements = kernel.elements();
    for (std::size_t i = 0; i < elements; ++i) kernel.element(i);
  } else if constexpr (SumKernel<Kernel>) {
    const std::size_t terms = kernel.terms();
    double sum = 0;
    for (std::size_t i = 0; i < terms; ++i) sum += kernel.term(i);
    *kernel.into += kernel.weight * sum;
  } else {
    kernel.reference();
  }
}

// ---- for formulas ----

/// sum + keep·old; old is ignored if keep is 0, even NaN.
template <class Real>
PARAGRAD_HOST_DEVICE Real accumulate(Real sum, Real keep, Real old) {
  return keep == 0 ? sum : keep * old + sum;
}

// ---- for check() ----

[[noreturn]] void refuse_size(std::string_view call, const char* argument, std::size_t size, std::size_t wanted);

inline void expect_size(std::string_view call, const char* argument, std::size_t size, std::size_t wanted) {
  if (size != wanted) refuse_size(call, argument, size, wanted);
}
inline void expect_size(KernelId kernel, const char* argument, std::size_t size, std::size_t wanted) {
  if (size != wanted) refuse_size(kernel_name(kernel), argument, size, wanted);
}

// ---- for cost() ----

/// A product with rows·inner·columns multiplications.
inline KernelCost product_cost(std::uint64_t rows, std::uint64_t inner, std::uint64_t columns) {
  KernelCost cost{{rows, inner, columns}, {}};
  cost.work.add(KernelKind::gemm, 2 * rows * inner * columns,
                sizeof(float) * (rows * inner + inner * columns + rows * columns));
  return cost;
}

/// A pass over arrays: `flops` operations on each of `elements`, `accesses` of which are read or written, and other bytes.
inline KernelCost streaming_cost(std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses,
                                 std::uint64_t other_bytes = 0) {
  const std::uint64_t bytes = sizeof(float) * accesses * elements + other_bytes;
  KernelCost cost{{bytes, 1, 1}, {}};
  cost.work.add(KernelKind::streaming, flops * elements, bytes);
  return cost;
}

}  // namespace paragrad::backend
