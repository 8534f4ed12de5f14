#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "backend/device.hpp"

namespace paragrad::backend {

/// An array of elements other than floats in device memory, initially zero.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

 public:
  DeviceArray() = default;
  DeviceArray(const Device& device, std::size_t count)
      : memory_(device.allocate((count * sizeof(T) + sizeof(float) - 1) / sizeof(float))), count_(count) {}

  T* data() { return reinterpret_cast<T*>(memory_.span().data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.span().data()); }
  std::size_t size() const { return count_; }
  std::span<T> span() { return {data(), count_}; }
  std::span<const T> span() const { return {data(), count_}; }

 private:
  core::Arena memory_;
  std::size_t count_ = 0;
};

/// A device array with a copy of the host's values.
template <class T>
DeviceArray<std::remove_const_t<T>> on_device(Device& device, std::span<T> values) {
  DeviceArray<std::remove_const_t<T>> array(device, values.size());
  device.transfer(std::span<const T>(values), array.span());
  return array;
}

/// The value at `place`, in device or host memory; T{} on a device without arithmetic.
template <class T>
T value_at(Device& device, const T* place) {
  T value{};
  device.transfer(std::span<const T>(place, 1), std::span<T>(&value, 1));
  return value;
}

}  // namespace paragrad::backend
