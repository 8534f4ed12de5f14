#include "backend/cuda/fused_products.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <tuple>

#include "backend/cuda/cuda_check.hpp"

namespace paragrad::backend::cuda {
namespace {

constexpr const char* doing = "a matrix product with a bias";

/// The alignment of an address, up to the largest that cuBLASLt distinguishes.
std::uint32_t alignment_of(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(number & -number, 256));
}

/// Owner of an object of a CUDA library whose functions are loaded at run time.
template <class Handle, class Destroy>
class Owned {
 public:
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(destroy_(handle_));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* place() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Destroy destroy_;
  Handle handle_ = nullptr;
};

using Operation = Owned<cublasLtMatmulDesc_t, decltype(CublasLt::destroy_operation)>;
using Layout = Owned<cublasLtMatrixLayout_t, decltype(CublasLt::destroy_layout)>;
using Preference = Owned<cublasLtMatmulPreference_t, decltype(CublasLt::destroy_preference)>;

template <class Value>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublas_lt().set_operation(operation.get(), attribute, &value, sizeof value), doing);
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublas_lt().set_preference(preference.get(), attribute, &value, sizeof value), doing);
}

void make(Layout& layout, std::size_t rows, std::size_t columns, std::size_t distance) {
  check(cublas_lt().make_layout(layout.place(), CUDA_R_32F, rows, columns, static_cast<std::int64_t>(distance)), doing);
}

/// Stored as [rows][columns], which cuBLASLt sees as a matrix of `columns` rows.
void make(Layout& layout, const gpu_kernels::Multiplication::Input& input, std::size_t rows, std::size_t columns) {
  const bool transposed = input.transpose == Transpose::yes;
  make(layout, transposed ? rows : columns, transposed ? columns : rows, input.row);
}

cublasOperation_t operation_of(const gpu_kernels::Multiplication::Input& input) {
  return input.transpose == Transpose::no ? CUBLAS_OP_N : CUBLAS_OP_T;
}

}  // namespace

/// The properties on which cuBLASLt's choice of algorithm depends.
struct FusedProducts::Shape {
  std::size_t m, n, k, a_row, b_row, c_row;
  Transpose a_transpose, b_transpose;
  Activation f;
  bool keeps;
  std::array<std::uint32_t, 4> alignments;  // of A, B, C and the bias

  explicit Shape(const gpu_kernels::Multiplication& p)
      : m(p.m),
        n(p.n),
        k(p.k),
        a_row(p.a.row),
        b_row(p.b.row),
        c_row(p.c_row),
        a_transpose(p.a.transpose),
        b_transpose(p.b.transpose),
        f(p.f),
        keeps(p.keep != 0),
        alignments{alignment_of(p.a.data), alignment_of(p.b.data), alignment_of(p.c), alignment_of(p.bias)} {}

  auto operator<=>(const Shape&) const = default;
};

/// cuBLASLt's matrices are column-major: the row-major C = A·B is its Cᵀ = Bᵀ·Aᵀ, and the bias has one number per row, as it
/// requires.
class FusedProducts::Plan {
 public:
  Plan(cublasLtHandle_t handle, cublasComputeType_t type, const gpu_kernels::Multiplication& p,
       std::size_t workspace_bytes) {
    const CublasLt& lt = cublas_lt();
    check(lt.make_operation(operation_.place(), type, CUDA_R_32F), doing);
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(p.b));
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(p.a));
    set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE,
        p.f == Activation::relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);  // its alignment matters
    make(left_, p.b, p.k, p.n);
    make(right_, p.a, p.m, p.k);
    make(result_, p.n, p.m, p.c_row);
    Preference preference(lt.destroy_preference);
    check(lt.make_preference(preference.place()), doing);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b.data));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a.data));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check(lt.get_heuristic(handle, operation_.get(), left_.get(), right_.get(), result_.get(), result_.get(),
                           preference.get(), 1, &best, &found),
          doing);
    check(found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : best.state, doing);
    algorithm_ = best.algo;
  }

  void run(cublasLtHandle_t handle, const gpu_kernels::Multiplication& p, std::span<std::byte> workspace,
           cudaStream_t stream) const {
    const float one = 1;
    set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    check(cublas_lt().matmul(handle, operation_.get(), &one, p.b.data, left_.get(), p.a.data, right_.get(), &p.keep, p.c,
                             result_.get(), p.c, result_.get(), &algorithm_, workspace.data(), workspace.size(), stream),
          doing);
  }

 private:
  Operation operation_{cublas_lt().destroy_operation};
  Layout left_{cublas_lt().destroy_layout}, right_{cublas_lt().destroy_layout}, result_{cublas_lt().destroy_layout};
  cublasLtMatmulAlgo_t algorithm_{};
};

FusedProducts::FusedProducts(cublasComputeType_t compute_type) : compute_type_(compute_type) {
  check(cublas_lt().create(&handle_), "starting cuBLASLt");
}

FusedProducts::~FusedProducts() {
  plans_.clear();
  if (handle_ != nullptr) static_cast<void>(cublas_lt().destroy(handle_));
}

const FusedProducts::Plan& FusedProducts::plan_of(const gpu_kernels::Multiplication& product, std::size_t workspace_bytes) {
  const Shape shape(product);
  const auto known = plans_.find(shape);
  if (known != plans_.end()) return known->second;
  return plans_
      .emplace(std::piecewise_construct, std::tuple(shape), std::tuple(handle_, compute_type_, product, workspace_bytes))
      .first->second;
}

void FusedProducts::multiply(const gpu_kernels::Multiplication& product, std::span<std::byte> workspace,
                             cudaStream_t stream) {
  plan_of(product, workspace.size()).run(handle_, product, workspace, stream);
}

}  // namespace paragrad::backend::cuda
