#include "backend/cuda/nccl.hpp"

#include "backend/cuda/shared_library.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

Nccl load() {
  const SharedLibrary library("NCCL", {core::format("libnccl.so.{}", NCCL_MAJOR)},
                              "install NCCL, or choose a collective other than nccl");
  Nccl found{};
  library.find("ncclGetUniqueId", found.get_unique_id);
  library.find("ncclCommInitRankConfig", found.init_rank);
  library.find("ncclCommGetAsyncError", found.get_async_error);
  library.find("ncclAllReduce", found.all_reduce);
  library.find("ncclCommDestroy", found.destroy);
  library.find("ncclCommAbort", found.abort);
  library.find("ncclGetErrorString", found.error_string);
  return found;
}

}  // namespace

const Nccl& nccl() {
  static const Nccl loaded = load();
  return loaded;
}

}  // namespace paragrad::backend::cuda
