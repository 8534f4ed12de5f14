#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/checksum.hpp"

namespace paragrad::data {

class Hdf5File;

/// Checksums of everything written to an HDF5 file, to verify that it reached the disk. A disk that fails once can lose a
/// write that HDF5 had buffered, and only reading it back proves the contrary. Costs one pass over the written bytes and one
/// over the bytes read back; consecutive writes share an entry.
class WriteLog {
 public:
  /// offset: of these bytes within the array. No byte may be written twice.
  void add(const std::string& array, std::uint64_t offset, std::span<const std::byte> bytes);

  /// value: as HDF5 stores it. Replaces an earlier value.
  void set_attribute(const std::string& object, const std::string& name, std::span<const std::byte> value);

  /// Reads everything back from the file on disk. Throws ConfigError naming the first array or attribute that differs from
  /// what was written.
  void compare_with(const Hdf5File& file) const;

 private:
  struct Piece {
    std::uint64_t begin = 0;  ///< bytes within the array
    std::uint64_t end = 0;
    std::uint64_t checksum = 0;
  };
  struct Array {
    std::vector<Piece> pieces;
    core::Checksum last;  ///< of the last piece, which may still grow
  };

  std::map<std::string, Array> arrays_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> attributes_;
};

}  // namespace paragrad::data
