#pragma once

#include <nccl.h>

#include "backend/cuda/shared_library.hpp"

namespace paragrad::backend::cuda {

/// The functions of NCCL that are used.
struct Nccl {
  const SharedLibrary* library;
  decltype(&ncclGetUniqueId) get_unique_id = library->find("ncclGetUniqueId");
  decltype(&ncclCommInitRankConfig) init_rank = library->find("ncclCommInitRankConfig");
  decltype(&ncclCommGetAsyncError) get_async_error = library->find("ncclCommGetAsyncError");
  decltype(&ncclAllReduce) all_reduce = library->find("ncclAllReduce");
  decltype(&ncclCommDestroy) destroy = library->find("ncclCommDestroy");
  decltype(&ncclCommAbort) abort = library->find("ncclCommAbort");
  decltype(&ncclGetErrorString) error_string = library->find("ncclGetErrorString");
};

/// Throws ConfigError if the library is missing.
const Nccl& nccl();

}  // namespace paragrad::backend::cuda
