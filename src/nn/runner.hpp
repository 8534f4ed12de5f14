#pragma once

#include <functional>
#include <span>

#include "backend/kernel_queue.hpp"
#include "core/range.hpp"

namespace paragrad::nn {

/// What executes the kernels of a pass.
class Runner {
 public:
  using Kernels = std::function<void(backend::KernelQueue&)>;

  virtual ~Runner() = default;

  /// Runs the kernels that `kernels` puts into its queue; they may be executed after it has returned.
  virtual void run(const Kernels& kernels) = 0;
};

/// The workers that hold the parts of a graph together (tensor parallelism), and this one's device. Spans are device memory;
/// parts[k] belongs to worker k, and together they cover the array.
class Peers : public Runner {
 public:
  /// Each worker starts with its own part; afterwards all hold the whole array.
  virtual void gather(std::span<const core::Range> parts, std::span<float> array) = 0;

  /// Each worker starts with an addend for the whole array; afterwards its own part holds the sum.
  virtual void sum(std::span<const core::Range> parts, std::span<float> array) = 0;
};

}  // namespace paragrad::nn
