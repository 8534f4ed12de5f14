#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Formats with checksums, written around any content: damage in it then reaches the reader.
namespace paragrad::data {

inline std::string number_of_bytes(std::uint32_t value, std::size_t bytes, bool big_endian = false) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i));
  return text;
}

/// Of gzip, zip and PNG.
inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

/// RFC 1952 with one stored block of at most 65,535 bytes: a gzip file without a compressor.
inline std::string gzip(std::string_view bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11) + number_of_bytes(length | ~length << 16, 4) +
         std::string(bytes) + number_of_bytes(crc32_of(bytes), 4) + number_of_bytes(length, 4);
}

/// A zip archive of files that are not compressed.
inline std::string zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive, directory;
  for (const auto& [name, bytes] : files) {
    const auto size = number_of_bytes(static_cast<std::uint32_t>(bytes.size()), 4);
    // version, flags, method, time, date (1980-01-01), checksum, sizes, length of the name, of extra fields
    const std::string header = std::string("\x0a\0\0\0\0\0\0\0\x21\0", 10) + number_of_bytes(crc32_of(bytes), 4) + size +
                               size + number_of_bytes(static_cast<std::uint32_t>(name.size()), 2) + std::string(2, '\0');
    directory += std::string("PK\x01\x02\x0a\0", 6) + header + std::string(10, '\0') +
                 number_of_bytes(static_cast<std::uint32_t>(archive.size()), 4) + name;
    archive += std::string("PK\x03\x04", 4) + header + name + bytes;
  }
  const auto count = number_of_bytes(static_cast<std::uint32_t>(files.size()), 2);
  return archive + directory + std::string("PK\x05\x06\0\0\0\0", 8) + count + count +
         number_of_bytes(static_cast<std::uint32_t>(directory.size()), 4) +
         number_of_bytes(static_cast<std::uint32_t>(archive.size()), 4) + std::string(2, '\0');
}

/// A PNG file, perhaps damaged, with the checksum of each chunk made right.
inline std::string with_right_checksums(std::string png) {
  const auto length_at = [&](std::size_t at) {
    std::size_t length = 0;
    for (std::size_t i = at; i < at + 4; ++i) length = length << 8 | static_cast<std::uint8_t>(png[i]);
    return length;
  };
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t length = length_at(at);
    if (length > png.size() - at - 12) break;
    png.replace(at + 8 + length, 4, number_of_bytes(crc32_of(std::string_view(png).substr(at + 4, length + 4)), 4, true));
    at += length + 12;
  }
  return png;
}

}  // namespace paragrad::data
