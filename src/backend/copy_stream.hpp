#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

namespace paragrad::backend {

/// Copies data to a device's memory from a thread other than the one that calls the device, overlapping with kernels.
class CopyStream {
 public:
  virtual ~CopyStream() = default;

  /// For the thread that calls the device: later copies wait until all earlier calls of the device are complete, so that
  /// memory used by kernels may be overwritten.
  virtual void follow() = 0;

  /// to = from, from host memory to device memory; complete on return.
  template <class T>
  void bring(std::span<const T> from, std::span<T> to) {
    if (from.size() != to.size()) throw std::logic_error("CopyStream::bring: sizes differ");
    if (!to.empty()) do_bring(to.size_bytes(), std::as_bytes(from).data(), std::as_writable_bytes(to).data());
  }

 private:
  virtual void do_bring(std::size_t bytes, const std::byte* from, std::byte* to) = 0;
};

}  // namespace paragrad::backend
