#pragma once

#include <nccl.h>

namespace paragrad::backend::cuda {

/// The functions of NCCL that are used.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclCommGetAsyncError) get_async_error;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclGetErrorString) error_string;
};

/// Throws ConfigError if the library is missing.
const Nccl& nccl();

}  // namespace paragrad::backend::cuda
