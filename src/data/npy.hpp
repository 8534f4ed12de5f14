#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paragrad::data {

/// A NumPy array of numbers or texts in the bytes of a .npy file (versions 1 to 3). Elements are counted in C order, the
/// last index fastest, however they are stored.
struct NpyArray {
  std::string name;  ///< for messages
  char kind = 'u';  ///< NumPy's: u unsigned, i signed, f floating point, b truth values; U and S texts of 4 and 1 bytes each
  std::size_t element_bytes = 1;  ///< 1, 2, 4 or 8; of f 2, 4 or 8, of b 1; of texts as many as the longest has
  bool big_endian = false;
  bool fortran_order = false;  ///< stored with the first index fastest
  std::vector<std::size_t> shape;
  std::span<const std::byte> data;  ///< [elements][element_bytes], in the file's memory

  std::size_t elements() const { return data.size() / element_bytes; }
  std::string dtype() const;               ///< "uint8"
  std::string place(std::size_t i) const;  ///< of element i: "x[3, 17]"

  bool is_text() const { return kind == 'U' || kind == 'S'; }
  bool whole() const { return kind != 'f' && !is_text(); }
  std::int64_t integer(std::size_t i) const;  ///< element i of whole numbers; of uint64 at most the largest int64
  double number(std::size_t i) const;         ///< element i
  std::string text(std::size_t i) const;      ///< element i: a text in UTF-8, or all digits of a number

  /// The array [rows][…] of some of the rows, which the first dimensions number together, copied to `storage`.
  NpyArray rows(std::span<const std::size_t> which, std::size_t dimensions, std::vector<std::byte>& storage) const;

 private:
  std::size_t stored(std::size_t i) const;  // the place of element i
  std::uint64_t bits(std::size_t i) const;  // of element i
};

/// Reads what numpy.load reads, also headers written by Python 2 and types without a byte order. Throws ConfigError for
/// other element types, and for headers that do not describe the bytes that follow. name: for messages.
NpyArray parse_npy(std::span<const std::byte> file, const std::string& name);

}  // namespace paragrad::data
