#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/kernels.hpp"
#include "core/philox.hpp"

/// What benchmarks of training on one core have in common.
namespace paragrad::bench {

/// Time that this thread spent on a processor: on a shared machine the wall clock would also count its neighbours.
inline double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline void randomise(std::span<float> values, std::uint32_t stream) {
  const core::RandomStream random(1, core::Purpose::generator, stream);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(2 * random.uniform(i) - 1);
}

/// Rate of large square matrix products.
inline double sgemm_gflops(backend::Device& device, std::size_t n) {
  core::Arena a = device.allocate(n * n), b = device.allocate(n * n), c = device.allocate(n * n);
  randomise(a.span(), 1);
  randomise(b.span(), 2);
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin_s = thread_s();
    device.gemm(backend::Transpose::no, backend::Transpose::no, n, n, n, a.span(), b.span(), 0, c.span());
    best_s = std::min(best_s, thread_s() - begin_s);
  }
  return 2e-9 * static_cast<double>(n * n * n) / best_s;
}

inline double sgemm_gflops(backend::Device& device) {
  return std::max(sgemm_gflops(device, 1024), sgemm_gflops(device, 2048));
}

/// Best time of one step, over groups of steps of about 10 ms, for so many seconds.
template <class Train>
double best_step_s(double seconds, const Train& train) {
  train();
  const double first_s = thread_s();
  train();
  const int group = std::max(1, static_cast<int>(0.01 / (thread_s() - first_s)));
  double best_s = 1e9;
  do {
    const double begin_s = thread_s();
    for (int i = 0; i < group; ++i) train();
    best_s = std::min(best_s, (thread_s() - begin_s) / group);
  } while (thread_s() - first_s < seconds);
  return best_s;
}

}  // namespace paragrad::bench
