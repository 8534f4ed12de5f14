#pragma once

#include <string>

namespace paragrad::core {
struct CatalogueInfo;  // of core/options.hpp, which nvcc cannot compile
}

namespace paragrad::backend {

/// The devices of backend/catalogue.def.
core::CatalogueInfo device_catalogue();

/// The functions of backend/activations.def.
core::CatalogueInfo activation_catalogue();

/// Version and chosen kernels of the loaded OpenBLAS and of our own matrix product, for a run's manifest:
/// "OpenBLAS 0.3.21 …, core SkylakeX; own kernels AVX-512". Throws ConfigError if OpenBLAS cannot be loaded.
std::string blas_description();

/// The CUDA toolkit version of the device cuda, "12.4"; "none" if the device is not built.
std::string cuda_description();

}  // namespace paragrad::backend
