#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paragrad::data {

/// A NumPy array of integers in the bytes of a .npy file (versions 1 to 3), elements in C order.
struct NpyArray {
  std::string name;               ///< for messages
  char kind = 'u';                ///< NumPy's: u unsigned, i signed
  std::size_t element_bytes = 1;  ///< 1, 2, 4 or 8
  bool big_endian = false;
  std::vector<std::size_t> shape;
  std::span<const std::byte> data;  ///< [elements][element_bytes], in the file's memory

  std::size_t elements() const { return data.size() / element_bytes; }
  std::string dtype() const;  ///< "uint8"

  /// Element i; of an unsigned 64-bit array at most the largest int64.
  std::int64_t at(std::size_t i) const;
};

/// Throws ConfigError for other element types, Fortran order, and headers that NumPy would not write or that do not describe
/// the bytes that follow. name: for messages.
NpyArray parse_npy(std::span<const std::byte> file, const std::string& name);

}  // namespace paragrad::data
