#pragma once

#include <functional>
#include <span>

#include "backend/kernel_queue.hpp"
#include "core/range.hpp"

namespace paragrad::nn {

/// Puts the kernels of a part of a pass into a queue.
using Kernels = std::function<void(backend::KernelQueue&)>;

/// The workers that hold the parts of a graph together (tensor parallelism). Spans are device memory; parts[k] belongs to
/// worker k, and together they cover the array.
class ReplicaPeers {
 public:
  virtual ~ReplicaPeers() = default;

  /// Executes kernels on this worker's device, perhaps only after `kernels` has returned. They are complete on return.
  virtual void run(const Kernels& kernels) = 0;

  /// Each worker starts with its own part; afterwards all hold the whole array.
  virtual void gather(std::span<const core::Range> parts, std::span<float> array) = 0;

  /// Each worker starts with an addend for the whole array; afterwards its own part holds the sum.
  virtual void sum(std::span<const core::Range> parts, std::span<float> array) = 0;
};

}  // namespace paragrad::nn
