#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace paragrad::system {

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

  // Of a part of bytes(), which is not empty. The system may ignore advice.

  /// Starts to read the part without waiting for it. The system may limit how much it reads at once: a call for each 128 KiB
  /// is safe.
  void read_soon(std::span<const std::byte> part) const;

  /// From now on, accessing a page that is not in memory reads this page only, and not those around it as well (on some
  /// systems megabytes).
  void read_by_page(std::span<const std::byte> part) const;

  /// Gives up the memory of a part that has been used. It may be read again.
  void drop(std::span<const std::byte> part) const;

  /// Whether the first byte is in memory, as far as the system tells.
  bool in_memory(std::span<const std::byte> part) const;

 private:
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;  // a copy, for in_memory()
};

}  // namespace paragrad::system
