#pragma once

#include <cstddef>

namespace paragrad::backend::gpu_kernels {

/// Divides device memory among the intermediate arrays of kernels. Without memory it returns null pointers and only counts
/// the bytes, so the same code gives both layout and size.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::byte* memory) : memory_(memory) {}  ///< aligned to 8 bytes

  template <class T>
  T* take(std::size_t count) {
    static_assert(alignof(T) <= 8);
    bytes_ = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T* const place = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += count * sizeof(T);
    return place;
  }

  std::size_t bytes() const { return bytes_; }  ///< handed out so far

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace paragrad::backend::gpu_kernels
