#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paragrad::system {

/// A file open for reading and writing and locked against other processes. The lock ends with the object or with the
/// process, even if the process is killed. On a file system without locks, locking always succeeds.
class LockedFile {
 public:
  /// Creates the file if missing. Returns nullopt if another process holds it. Throws ConfigError if it cannot be opened
  /// or is a link (output_file.hpp).
  /// parts: numbers of what is locked in the place of the whole file. Processes that lock different parts do not exclude
  /// each other.
  static std::optional<LockedFile> open(const std::string& path, const std::vector<std::size_t>& parts = {});

  ~LockedFile();
  LockedFile(LockedFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockedFile& operator=(LockedFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }

 private:
  explicit LockedFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace paragrad::system
