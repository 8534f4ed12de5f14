#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_array.hpp"

namespace paragrad::backend::gpu_kernels {

/// Device tables derived from the sequence lengths of a minibatch. Cached, because many minibatches have equal lengths.
class StepTables {
 public:
  explicit StepTables(Device& device) : device_(&device) {}

  template <class Make>
  const std::uint32_t* of(std::span<const std::uint32_t> active, const Make& make) {
    constexpr std::size_t most_tables = 64;
    const std::vector<std::uint32_t> key(active.begin(), active.end());
    if (const auto known = tables_.find(key); known != tables_.end()) return known->second.data();
    if (tables_.size() == most_tables) {
      device_->finish();  // wait for kernels that read them
      tables_.clear();
    }
    const std::vector<std::uint32_t> table = make();
    return (tables_[key] = on_device(*device_, std::span(table))).data();
  }

 private:
  Device* device_;
  std::map<std::vector<std::uint32_t>, DeviceArray<std::uint32_t>> tables_;
};

/// What the body of a kernel for GPUs is given: run(GpuContext<Runtime>&, const Kernel&), in the file of the kernel's name
/// or of its family's. It queues kernels of its own on the runtime (gpu_device.hpp) and returns.
template <class Runtime>
class GpuContext {
 public:
  template <class... Arguments>
  explicit GpuContext(Device& device, Arguments&&... arguments)
      : lengths(device),
        before{StepTables(device), StepTables(device), StepTables(device)},
        runtime_(std::forward<Arguments>(arguments)...) {}

  Runtime& runtime() { return runtime_; }
  const Runtime& runtime() const { return runtime_; }

  template <class Kernel>
  void operator()(const Kernel& kernel) {
    runtime_.run(kernel);
  }

  /// The same, to be handed on.
  auto runner() {
    return [this](const auto& kernel) { (*this)(kernel); };
  }

  /// Memory that lasts until the next call for the same purpose: one array each, which grows and is kept.
  template <class T>
  T* scratch(const char* purpose, std::size_t count) {
    core::Arena& arena = scratch_[purpose];
    const std::size_t floats = (count * sizeof(T) + sizeof(float) - 1) / sizeof(float);
    if (arena.size() < floats) {
      runtime_.finish();  // wait for users of the smaller one
      arena = runtime_.allocate(floats);
    }
    return reinterpret_cast<T*>(arena.span().data());
  }

  StepTables lengths;                // sequence lengths, as in Steps
  std::array<StepTables, 3> before;  // frames_before() of one direction, of two, and of one that runs back

 private:
  Runtime runtime_;
  std::map<std::string, core::Arena> scratch_;
};

/// nullptr for none.
template <class T>
T* data_of(std::span<T> optional) {
  return optional.empty() ? nullptr : optional.data();
}

}  // namespace paragrad::backend::gpu_kernels
