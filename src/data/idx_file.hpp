#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paragrad::data {

/// The content of an IDX file of integers (LeCun's format: 0 0 type rank, sizes as big-endian 32-bit numbers, elements,
/// which are big-endian, too).
struct IdxFile {
  std::string name;                ///< without folder and .gz
  std::vector<std::size_t> shape;  ///< [samples, …]
  std::size_t element_bytes = 1;
  bool has_sign = false;
  std::vector<std::uint8_t> bytes;  ///< of all elements, first index slowest
  std::string sha256;               ///< of the file, decompressed

  std::size_t elements() const { return bytes.size() / element_bytes; }
  std::size_t row_elements() const { return shape[0] == 0 ? 0 : elements() / shape[0]; }
  std::int32_t integer(std::size_t i) const;  ///< element i
};

/// Reads a file, compressed with gzip or not. Throws ConfigError for a missing or truncated file, damaged gzip, another
/// format, elements that are no integers of 8, 16 or 32 bits, and extra bytes at the end.
IdxFile read_idx(const std::string& path);

}  // namespace paragrad::data
