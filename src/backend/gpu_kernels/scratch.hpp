#pragma once

#include <cstddef>

namespace paragrad::backend::gpu_kernels {

/// Deals out memory of a device that kernels leave notes in for those after them. Asked without memory it deals out null
/// pointers, and says how much there must be: one function lays out the notes, and another one gives its size.
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

  std::size_t bytes() const { return bytes_; }  ///< dealt out until now

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace paragrad::backend::gpu_kernels
