#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/locked_file.hpp"

namespace paragrad::core {

/// Reserves a folder for one process by a locked file in it, `.lock`, which names the process. The file of a killed process
/// stays in the folder and is ignored.
class FolderLock {
 public:
  /// Creates the folder if missing. Throws ConfigError if another process holds the folder (the message gives its id and
  /// host) or if the folder is not writable.
  /// name: of the file; locks of different names do not exclude each other.
  explicit FolderLock(const std::string& folder, const std::string& name = ".lock");
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, std::nullopt)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }

 private:
  std::string path_;
  std::optional<LockedFile> file_;
};

}  // namespace paragrad::core
