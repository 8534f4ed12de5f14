#pragma once

#include "backend/activation.hpp"
#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/channels.hpp"
#include "core/encoding.hpp"

/// Formulas for a gpu_kernels::Stream.
namespace paragrad::backend::gpu_kernels {

template <class Kernel>
struct ElementOf {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  Kernel kernel;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { kernel.element(i); }
};

/// A kernel of independent elements (backend::Elementwise), ready to run.
template <class Kernel>
Stream<ElementOf<Kernel>> elements_of(const Kernel& kernel) {
  return {kernel.elements(), {kernel}};
}

/// A formula for four elements at a time, of a kernel where come_in_fours() holds.
template <LaneKernel Kernel>
struct FoursOf {
  static constexpr const char* name = kernel_name(Kernel::id).data();
  Kernel kernel;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const { kernel.template element<4>(4 * i); }
};

/// Runs a kernel of independent elements, four at a time if possible.
template <class Run, Elementwise Kernel>
void run_elements(const Run& run, const Kernel& kernel) {
  if (kernel.elements() == 0) return;
  if constexpr (LaneKernel<Kernel>)
    if (kernel.come_in_fours()) return run(Stream<FoursOf<Kernel>>{kernel.elements() / 4, {kernel}});
  run(elements_of(kernel));
}

/// features[windows][width]; stored[frames][frame_dim].
struct Decode {
  static constexpr const char* name = "decode";
  core::Encoding encoding;
  std::size_t frame_dim, width;
  const std::byte* stored;
  const std::uint32_t* windows;
  float* features;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    features[i] = encoding.decode(stored, windows[i / width] * frame_dim + i % width);
  }
};

/// y[rows][columns] = f(y + bias[columns]); without a bias (nullptr) f(y).
struct AddBias {
  static constexpr const char* name = "bias and activation";
  Activation f;
  std::size_t columns;
  const float* bias;
  float* y;
  PARAGRAD_HOST_DEVICE void operator()(std::size_t i) const {
    y[i] = activate(f, bias == nullptr ? y[i] : y[i] + bias[i % columns]);
  }
};

// ---- bodies ----

template <class Kernel>
requires(Elementwise<Kernel> && !ChannelKernel<Kernel>) void run(auto& gpu, const Kernel& kernel) {
  run_elements(gpu.runner(), kernel);
}

}  // namespace paragrad::backend::gpu_kernels
