#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace paragrad::core {

/// A read-only memory-mapped file; pages are read on first access. If that fails (the file was truncated in the meantime,
/// or its disk reports an error), the reader gets SIGBUS. This class does not handle the signal; a program may, see
/// mapping_fault.hpp.
class FileMap {
 public:
  FileMap() = default;
  /// Maps an open file, which may be closed afterwards; empty if the file system does not support mapping.
  explicit FileMap(int descriptor);
  /// Throws ConfigError if the file is missing, is not a regular file or cannot be mapped.
  static FileMap open(const std::string& path);

  ~FileMap();
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace paragrad::core
