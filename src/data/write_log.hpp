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

/// What was written into an HDF5 file, as checksums: enough to find out whether it got there. A disk that fails
/// once can lose a write that HDF5 had kept back, and nothing but reading it again shows that for certain. Costs one pass
/// over the bytes that are written and one over those that are read; consecutive writes share an entry.
class WriteLog {
 public:
  /// offset: of these bytes within the array. No byte is written twice.
  void add(const std::string& array, std::uint64_t offset, std::span<const std::byte> bytes);

  /// value: as HDF5 stores it. Replaces the one that was set before.
  void set_attribute(const std::string& object, const std::string& name, std::span<const std::byte> value);

  /// Reads all of it from the file as it is on disk. Throws ConfigError that names the first array or attribute which is not
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
    core::Checksum last;  ///< of the last piece, which may go on
  };

  std::map<std::string, Array> arrays_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> attributes_;
};

}  // namespace paragrad::data
