#pragma once

/// Marks a function that is compiled for both CPU and GPU from the same source.
#ifdef __CUDACC__
#define PARAGRAD_HOST_DEVICE __host__ __device__
#else
#define PARAGRAD_HOST_DEVICE
#endif
