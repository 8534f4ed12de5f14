// cuBLAS and cuBLASLt: matrices are column-major.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "backend/cuda/cublas.hpp"
#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad::fake_cuda;

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

namespace paragrad::fake_cuda {
namespace {

/// A number rounded as a factor of a product: `bits` of mantissa, to nearest, ties to even.
float rounded(float x, int bits) {
  const int dropped = 23 - bits;
  auto word = std::bit_cast<std::uint32_t>(x);
  if (dropped == 0 || (word & 0x7F800000) == 0x7F800000) return x;
  word += (1u << (dropped - 1)) - 1 + (word >> dropped & 1);
  return std::bit_cast<float>(word >> dropped << dropped);
}

int mantissa_bits(cublasComputeType_t type) {
  return type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 10 : type == CUBLAS_COMPUTE_32F_FAST_16BF ? 7 : 23;
}

struct Product {
  std::size_t m, n, k;
  const float *a, *b;
  std::size_t lda, ldb;
  bool a_transposed, b_transposed;
  float beta;
  float* c;
  std::size_t ldc;
  int bits;
  const float* bias = nullptr;  // [m]
  bool has_relu = false;

  void operator()() const {
    const auto packed = [&](const float* from, std::size_t rows, std::size_t columns, std::size_t ld, bool transposed) {
      std::vector<float> to(rows * columns);  // [columns][rows]
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t i = 0; i < rows; ++i)
          to[j * rows + i] = rounded(transposed ? from[i * ld + j] : from[j * ld + i], bits);
      return to;
    };
    const std::vector<float> left = packed(a, m, k, lda, a_transposed), right = packed(b, k, n, ldb, b_transposed);
    std::vector<float> column(m);
    for (std::size_t j = 0; j < n; ++j) {
      column.assign(m, 0.f);
      for (std::size_t l = 0; l < k; ++l)
        for (std::size_t i = 0; i < m; ++i) column[i] += left[l * m + i] * right[j * k + l];
      for (std::size_t i = 0; i < m; ++i) {
        float& to = c[j * ldc + i];
        to = beta == 0 ? column[i] : column[i] + beta * to;
        if (bias != nullptr) to += bias[i];
        if (has_relu) to = std::max(to, 0.f);
      }
    }
  }
};

cublasStatus_t create(cublasHandle_t* handle) {
  const Lock lock(Machine::get().mutex);
  if (spoils_capture()) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream) {
  *handle = {stream, nullptr};  // like cuBLAS, which then uses its own memory again
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_workspace(cublasHandle_t handle, void* memory, std::size_t bytes) {
  const Lock lock(Machine::get().mutex);
  if (!Machine::get().is_of_gpu(memory, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = memory;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, std::int64_t m, std::int64_t n,
                    std::int64_t k, const void* alpha, const void* a, cudaDataType, std::int64_t lda, const void* b,
                    cudaDataType, std::int64_t ldb, const void* beta, void* c, cudaDataType, std::int64_t ldc,
                    cublasComputeType_t type, cublasGemmAlgo_t) {
  const Lock lock(Machine::get().mutex);
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const bool is_allowed = lda >= (ta == CUBLAS_OP_N ? m : k) && ldb >= (tb == CUBLAS_OP_N ? k : n) && ldc >= m &&
                          *static_cast<const float*>(alpha) == 1 && handle->workspace != nullptr;
  if (!is_allowed) return CUBLAS_STATUS_INVALID_VALUE;
  if (handle->stream->gpu != current_gpu()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const Product product{size(m),
                        size(n),
                        size(k),
                        static_cast<const float*>(a),
                        static_cast<const float*>(b),
                        size(lda),
                        size(ldb),
                        ta == CUBLAS_OP_T,
                        tb == CUBLAS_OP_T,
                        *static_cast<const float*>(beta),
                        static_cast<float*>(c),
                        size(ldc),
                        mantissa_bits(type)};
  Machine::get().enqueue(handle->stream, {product, handle->workspace});
  return CUBLAS_STATUS_SUCCESS;
}

const char* status_string(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "a status of the fake cuBLAS";
}

// The objects behind cuBLASLt's handles.

struct LtOperation {
  cublasComputeType_t type;
  std::int32_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
};

struct LtLayout {
  std::uint64_t rows, columns;
  std::int64_t ld;
};

struct LtPreference {
  std::uint64_t workspace = 0;
  std::uint32_t a = 256, b = 256, c = 256, d = 256;  // alignments
};

/// The problem for which an algorithm was chosen; it is valid for no other.
struct Purpose {
  std::uint64_t m, n, k, workspace;
  std::uint32_t a, b, c, d, bias;
};
static_assert(sizeof(Purpose) <= sizeof(cublasLtMatmulAlgo_t));

template <class Object, class Handle>
Object& behind(Handle handle) {
  return *const_cast<Object*>(reinterpret_cast<const Object*>(handle));
}

template <class Object, class Handle>
cublasStatus_t destroy_object(Handle handle) {
  delete &behind<Object>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint32_t alignment_of(const void* address) {
  std::uint32_t alignment = 1;
  while (alignment < 256 && reinterpret_cast<std::uintptr_t>(address) % (2 * alignment) == 0) alignment *= 2;
  return alignment;
}

template <class Value>
cublasStatus_t assign(Value& to, const void* from, std::size_t bytes) {
  if (bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t lt_create(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t make_operation(cublasLtMatmulDesc_t* operation, cublasComputeType_t type, cudaDataType_t) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new LtOperation{type});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_operation(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute, const void* value,
                             std::size_t bytes) {
  auto& operation = behind<LtOperation>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(operation.a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(operation.b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(operation.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(operation.bias, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t make_layout(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                           std::int64_t ld) {
  if (type != CUDA_R_32F || ld < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new LtLayout{rows, columns, ld});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t make_preference(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new LtPreference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_preference(cublasLtMatmulPreference_t handle, cublasLtMatmulPreferenceAttributes_t attribute,
                              const void* value, std::size_t bytes) {
  auto& preference = behind<LtPreference>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(preference.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(preference.a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(preference.b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(preference.c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(preference.d, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

std::uint64_t depth(const LtOperation& operation, const LtLayout& a) {
  return operation.a == CUBLAS_OP_N ? a.columns : a.rows;
}

bool fit(const LtOperation& operation, const LtLayout& a, const LtLayout& b, const LtLayout& c) {
  const bool ta = operation.a == CUBLAS_OP_T, tb = operation.b == CUBLAS_OP_T;
  return (ta ? a.columns : a.rows) == c.rows && (tb ? b.rows : b.columns) == c.columns &&
         (tb ? b.columns : b.rows) == depth(operation, a);
}

cublasStatus_t get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation_handle, cublasLtMatrixLayout_t a_handle,
                             cublasLtMatrixLayout_t b_handle, cublasLtMatrixLayout_t c_handle, cublasLtMatrixLayout_t,
                             cublasLtMatmulPreference_t preference_handle, int, cublasLtMatmulHeuristicResult_t* found,
                             int* count) {
  const auto& operation = behind<LtOperation>(operation_handle);
  const auto &a = behind<LtLayout>(a_handle), &b = behind<LtLayout>(b_handle), &c = behind<LtLayout>(c_handle);
  const auto& preference = behind<LtPreference>(preference_handle);
  *count = 0;
  if (!fit(operation, a, b, c)) return CUBLAS_STATUS_INVALID_VALUE;
  if (alignment_of(operation.bias) < 16) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Purpose purpose{c.rows,       c.columns,    depth(operation, a), preference.workspace,        preference.a,
                        preference.b, preference.c, preference.d,        alignment_of(operation.bias)};
  *found = {};
  std::memcpy(&found->algo, &purpose, sizeof purpose);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation_handle, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_handle, const void* b, cublasLtMatrixLayout_t b_handle, const void* beta,
                      const void* c, cublasLtMatrixLayout_t c_handle, void* d, cublasLtMatrixLayout_t,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                      cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  const auto& operation = behind<LtOperation>(operation_handle);
  const auto &of_a = behind<LtLayout>(a_handle), &of_b = behind<LtLayout>(b_handle), &of_c = behind<LtLayout>(c_handle);
  Purpose purpose{};
  std::memcpy(&purpose, algorithm, sizeof purpose);
  const bool is_aligned = alignment_of(a) >= purpose.a && alignment_of(b) >= purpose.b && alignment_of(c) >= purpose.c &&
                          alignment_of(d) >= purpose.d && alignment_of(operation.bias) >= purpose.bias;
  const bool is_alike = purpose.m == of_c.rows && purpose.n == of_c.columns && purpose.k == depth(operation, of_a) &&
                        workspace_bytes >= purpose.workspace && Machine::get().is_of_gpu(workspace, workspace_bytes);
  const bool has_relu = operation.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool is_known =
      (has_relu || operation.epilogue == CUBLASLT_EPILOGUE_BIAS) && c == d && *static_cast<const float*>(alpha) == 1;
  if (!is_aligned || !is_alike || !is_known) return CUBLAS_STATUS_INVALID_VALUE;
  if (stream->gpu != current_gpu()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const Product product{of_c.rows,
                        of_c.columns,
                        depth(operation, of_a),
                        static_cast<const float*>(a),
                        static_cast<const float*>(b),
                        static_cast<std::size_t>(of_a.ld),
                        static_cast<std::size_t>(of_b.ld),
                        operation.a == CUBLAS_OP_T,
                        operation.b == CUBLAS_OP_T,
                        *static_cast<const float*>(beta),
                        static_cast<float*>(d),
                        static_cast<std::size_t>(of_c.ld),
                        mantissa_bits(operation.type),
                        operation.bias,
                        has_relu};
  Machine::get().enqueue(stream, {product, workspace});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace paragrad::fake_cuda

namespace paragrad::backend::cuda {

const Cublas& cublas() {
  static constexpr Cublas fake{nullptr, &create, &destroy, &set_stream, &set_workspace, &gemm, &status_string};
  return fake;
}

const CublasLt& cublas_lt() {
  static constexpr CublasLt fake{nullptr,
                                 &lt_create,
                                 &destroy_object<int, cublasLtHandle_t>,
                                 &make_operation,
                                 &destroy_object<LtOperation, cublasLtMatmulDesc_t>,
                                 &set_operation,
                                 &make_layout,
                                 &destroy_object<LtLayout, cublasLtMatrixLayout_t>,
                                 &make_preference,
                                 &destroy_object<LtPreference, cublasLtMatmulPreference_t>,
                                 &set_preference,
                                 &get_heuristic,
                                 &matmul};
  return fake;
}

}  // namespace paragrad::backend::cuda
