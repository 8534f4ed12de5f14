#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace paragrad::core {

/// A file in memory, read-only; its pages are read when they are touched. Where that fails (the file was cut short
/// meanwhile, or its disk reports an error) the reader gets SIGBUS. Nothing here handles it: a program may, see
/// mapping_fault.hpp.
class FileMap {
 public:
  FileMap() = default;
  /// Of an open file, which may be closed afterwards; empty where the file system cannot map.
  explicit FileMap(int descriptor);
  /// Throws ConfigError where it is missing, no plain file, or cannot be mapped.
  static FileMap open(const std::string& path);

  ~FileMap();
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace paragrad::core
