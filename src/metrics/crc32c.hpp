#pragma once

#include <cstdint>
#include <string_view>

namespace paragrad::metrics {

/// Castagnoli's cyclic redundancy check (RFC 3720, appendix B.4), bit by bit, as the data checked here is small.
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

/// Masked as in TensorFlow's records, because a CRC over bytes that contain their own CRC would be weak.
constexpr std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

}  // namespace paragrad::metrics
