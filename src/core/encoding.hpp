#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/host_device.hpp"

namespace paragrad::core {

enum class NumberType { uint8, float32 };

constexpr const char* name_of(NumberType type) { return type == NumberType::uint8 ? "uint8" : "float32"; }

constexpr std::size_t bytes_of(NumberType type) { return type == NumberType::uint8 ? 1 : sizeof(float); }

/// How numbers are stored; the value of a stored number is scale·stored + offset.
struct Encoding {
  NumberType type = NumberType::float32;
  float scale = 1;
  float offset = 0;

  PARAGRAD_HOST_DEVICE float meaning(float stored) const {
    return scale == 1 && offset == 0 ? stored : scale * stored + offset;  // -0 stays -0
  }

  /// The i-th number of the array at `stored`, which needs the alignment of its type.
  PARAGRAD_HOST_DEVICE float decode(const std::byte* stored, std::size_t i) const {
    if (type == NumberType::uint8) return meaning(static_cast<float>(reinterpret_cast<const std::uint8_t*>(stored)[i]));
    return meaning(reinterpret_cast<const float*>(stored)[i]);
  }
};

/// Decodes numbers.size() numbers.
void decode(const Encoding& encoding, const std::byte* stored, std::span<float> numbers);

}  // namespace paragrad::core
