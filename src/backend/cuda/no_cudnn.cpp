#include "backend/cuda/convolutions.hpp"

namespace paragrad::backend::cuda {

std::unique_ptr<Convolutions> make_cudnn(int, const void*, cudaStream_t, Precision) { return nullptr; }

}  // namespace paragrad::backend::cuda
