#include "backend/cuda/nccl.hpp"

#include "core/format.hpp"

namespace paragrad::backend::cuda {

const Nccl& nccl() {
  static const SharedLibrary library("NCCL", {core::format("libnccl.so.{}", NCCL_MAJOR)},
                                     "install NCCL, or choose a collective other than nccl");
  static const Nccl loaded{&library};
  return loaded;
}

}  // namespace paragrad::backend::cuda
