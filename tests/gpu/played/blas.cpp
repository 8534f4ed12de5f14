// cuBLAS: matrices are column-major.
#include <bit>
#include <cstdint>

#include "backend/cuda/cublas.hpp"
#include "tests/gpu/played/gpu.hpp"

using namespace paragrad::played;

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

namespace paragrad::played {
namespace {

/// What a product sees of a number: `bits` of its mantissa, to the nearest, ties to even.
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
  *handle = {stream, nullptr};  // as cuBLAS does, which then has memory of its own again
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
  return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "a status of the played cuBLAS";
}

}  // namespace
}  // namespace paragrad::played

namespace paragrad::backend::cuda {

const Cublas& cublas() {
  static constexpr Cublas played{&create, &destroy, &set_stream, &set_workspace, &gemm, &status_string};
  return played;
}

}  // namespace paragrad::backend::cuda
