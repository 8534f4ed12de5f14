#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paragrad::data {

/// The content of an IDX file of unsigned bytes (LeCun's format: 0 0 type rank, sizes as big-endian 32-bit numbers,
/// elements).
struct IdxFile {
  std::string name;                 ///< without folder and .gz
  std::vector<std::size_t> shape;   ///< [samples, …]
  std::vector<std::uint8_t> bytes;  ///< all elements, first index slowest
  std::string sha256;               ///< of the file, decompressed

  std::size_t row_elements() const { return shape[0] == 0 ? 0 : bytes.size() / shape[0]; }
};

/// Reads a file, compressed with gzip or not. Throws ConfigError for a missing or truncated file, damaged gzip, another
/// format or element type, and extra bytes at the end.
IdxFile read_idx(const std::string& path);

}  // namespace paragrad::data
