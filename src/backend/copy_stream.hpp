#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

namespace paragrad::backend {

/// A way into the memory of a device for another thread than the one that calls it: what is brought travels while kernels
/// run.
class CopyStream {
 public:
  virtual ~CopyStream() = default;

  /// For the thread that calls the device: what is brought after this waits until all is done that the device was called
  /// before. So memory that kernels used may be filled anew.
  virtual void follow() = 0;

  /// to = from, from memory of the host to the device's; done on return.
  template <class T>
  void bring(std::span<const T> from, std::span<T> to) {
    if (from.size() != to.size()) throw std::logic_error("CopyStream::bring: sizes differ");
    if (!to.empty()) do_bring(to.size_bytes(), std::as_bytes(from).data(), std::as_writable_bytes(to).data());
  }

 private:
  virtual void do_bring(std::size_t bytes, const std::byte* from, std::byte* to) = 0;
};

}  // namespace paragrad::backend
