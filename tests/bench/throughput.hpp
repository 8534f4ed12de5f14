#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/device.hpp"
#include "backend/kernels/gemm.hpp"
#include "core/philox.hpp"

/// What benchmarks of training on one device have in common.
namespace paragrad::bench {

/// Seconds, all of the device's work being done. Of a core the time that this thread spent on it: on a shared machine the
/// wall clock would also count its neighbours.
inline double now_s(backend::Device& device) {
  device.finish();
  timespec now{};
  clock_gettime(device.is_host() ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Random numbers in memory of the device, up to a million different ones.
inline void randomise(backend::Device& device, std::span<float> values, std::uint32_t stream) {
  const core::RandomStream random(1, core::Purpose::generator, stream);
  std::vector<float> drawn(std::min<std::size_t>(values.size(), 1'000'003));  // a prime, so that no two rows are alike
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<float>(2 * random.uniform(i) - 1);
  for (std::size_t i = 0; i < values.size(); i += drawn.size()) {
    const std::size_t some = std::min(drawn.size(), values.size() - i);
    device.transfer(std::span<const float>(drawn).first(some), values.subspan(i, some));
  }
}

/// Rate of large square matrix products.
inline double sgemm_gflops(backend::Device& device, std::size_t n) {
  core::Arena a = device.allocate(n * n), b = device.allocate(n * n), c = device.allocate(n * n);
  randomise(device, a.span(), 1);
  randomise(device, b.span(), 2);
  double best_s = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin_s = now_s(device);
    device.run(backend::Gemm{backend::Transpose::no, backend::Transpose::no, n, n, n, a.span(), b.span(), 0, c.span()});
    best_s = std::min(best_s, now_s(device) - begin_s);
  }
  return 2e-9 * static_cast<double>(n * n * n) / best_s;
}

inline double sgemm_gflops(backend::Device& device) {
  if (!device.is_host()) return std::max(sgemm_gflops(device, 4096), sgemm_gflops(device, 8192));
  return std::max(sgemm_gflops(device, 1024), sgemm_gflops(device, 2048));
}

/// Best time of one step, over groups of steps of about 10 ms, for so many seconds.
template <class Train>
double best_step_s(backend::Device& device, double seconds, const Train& train) {
  train();
  const double first_s = now_s(device);
  train();
  const int group = std::max(1, static_cast<int>(0.01 / (now_s(device) - first_s)));
  double best_s = 1e9;
  do {
    const double begin_s = now_s(device);
    for (int i = 0; i < group; ++i) train();
    best_s = std::min(best_s, (now_s(device) - begin_s) / group);
  } while (now_s(device) - first_s < seconds);
  return best_s;
}

}  // namespace paragrad::bench
