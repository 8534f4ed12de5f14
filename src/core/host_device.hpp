#pragma once

/// Before a function that processors and GPUs both compute, from the same text.
#ifdef __CUDACC__
#define PARAGRAD_HOST_DEVICE __host__ __device__
#else
#define PARAGRAD_HOST_DEVICE
#endif
