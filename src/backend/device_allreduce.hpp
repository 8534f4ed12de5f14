#pragma once

#include <span>
#include <string>

namespace paragrad::backend {

/// Sums of arrays over the devices of several processes by the library of their maker (NCCL), which knows the wires between
/// them. All take part in every call, in the same order. Nothing waits: is_done() says when the next call may come.
///
/// Throws  std::runtime_error in the library's words, from any call, for what went wrong in it or in one before.
class DeviceAllreduce {
 public:
  virtual ~DeviceAllreduce() = default;

  /// What one of them has to tell the others: some bytes.
  virtual std::string invite() = 0;

  /// Throws ConfigError where the library does not take these devices.
  virtual void join(const std::string& invitation, int rank, int size) = 0;

  /// data = its sum, memory of the device, after all that the device was called before.
  virtual void start(std::span<float> data) = 0;

  virtual bool is_done() = 0;
};

}  // namespace paragrad::backend
