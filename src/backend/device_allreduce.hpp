#pragma once

#include <span>
#include <string>

namespace paragrad::backend {

/// Sums arrays over the devices of several processes with the vendor's library (NCCL), which uses the direct links between
/// them. All processes take part in every call, in the same order. Non-blocking: is_done() tells when the next call may
/// come.
///
/// Throws  std::runtime_error with the library's message, from any call, for errors in that call or an earlier one.
class DeviceAllreduce {
 public:
  /// Ends what is not done, whose result is then undefined. Until then, the device waits for the other processes.
  virtual ~DeviceAllreduce() = default;

  /// Bytes that one process must send to the others to establish the connection.
  virtual std::string invite() = 0;

  /// Throws ConfigError if the library does not support these devices.
  virtual void join(const std::string& invitation, int rank, int size) = 0;

  /// data = its sum, in device memory, after all earlier calls of the device.
  virtual void start(std::span<float> data) = 0;

  virtual bool is_done() = 0;
};

}  // namespace paragrad::backend
