#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/host_device.hpp"

namespace paragrad::core {

enum class NumberType { uint8, float32, uint16, int32 };  ///< the last two of tokens only

constexpr const char* name_of(NumberType type) {
  switch (type) {
    case NumberType::uint8:
      return "uint8";
    case NumberType::uint16:
      return "uint16";
    case NumberType::int32:
      return "int32";
    case NumberType::float32:
      break;
  }
  return "float32";
}

constexpr std::size_t bytes_of(NumberType type) {
  return type == NumberType::uint8 ? 1 : type == NumberType::uint16 ? 2 : 4;
}

/// The token at `stored`, of any alignment.
inline std::int32_t token_at(NumberType type, const std::byte* stored) {
  std::uint32_t token = 0;
  std::memcpy(&token, stored, bytes_of(type));  // little-endian
  return static_cast<std::int32_t>(token);
}

/// How numbers are stored; the value of a stored number is scale·stored + offset.
struct Encoding {
  NumberType type = NumberType::float32;
  float scale = 1;
  float offset = 0;

  PARAGRAD_HOST_DEVICE float meaning(float stored) const {
    return scale == 1 && offset == 0 ? stored : scale * stored + offset;  // -0 stays -0
  }

  /// The i-th number of the array of uint8 or float32 at `stored`, which needs the alignment of its type.
  PARAGRAD_HOST_DEVICE float decode(const std::byte* stored, std::size_t i) const {
    if (type == NumberType::uint8) return meaning(static_cast<float>(reinterpret_cast<const std::uint8_t*>(stored)[i]));
    return meaning(reinterpret_cast<const float*>(stored)[i]);
  }
};

/// Decodes numbers.size() numbers.
void decode(const Encoding& encoding, const std::byte* stored, std::span<float> numbers);

}  // namespace paragrad::core
