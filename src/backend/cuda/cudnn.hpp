#pragma once

#include <cudnn.h>

#include "backend/cuda/shared_library.hpp"

namespace paragrad::backend::cuda {

/// The functions of cuDNN that are used: those of its graph API.
struct Cudnn {
  const SharedLibrary* library;
  decltype(&cudnnCreate) create = library->find("cudnnCreate");
  decltype(&cudnnDestroy) destroy = library->find("cudnnDestroy");
  decltype(&cudnnSetStream) set_stream = library->find("cudnnSetStream");
  decltype(&cudnnGetErrorString) error_string = library->find("cudnnGetErrorString");
  decltype(&cudnnBackendCreateDescriptor) make_descriptor = library->find("cudnnBackendCreateDescriptor");
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = library->find("cudnnBackendDestroyDescriptor");
  decltype(&cudnnBackendSetAttribute) set_attribute = library->find("cudnnBackendSetAttribute");
  decltype(&cudnnBackendGetAttribute) get_attribute = library->find("cudnnBackendGetAttribute");
  decltype(&cudnnBackendFinalize) finalize = library->find("cudnnBackendFinalize");
  decltype(&cudnnBackendExecute) execute = library->find("cudnnBackendExecute");
};

/// nullptr if the library is missing.
const Cudnn* cudnn();

}  // namespace paragrad::backend::cuda
