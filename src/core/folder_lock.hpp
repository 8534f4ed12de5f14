#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/locked_file.hpp"

namespace paragrad::core {

/// Keeps a folder for one process: a locked file `.lock` in it that names the process. The file of a process that was killed
/// stays in the folder and is ignored.
class FolderLock {
 public:
  /// Creates the folder where it is missing. Throws ConfigError: another process has the folder (its id and host are named),
  /// or nothing can be written there.
  explicit FolderLock(const std::string& folder);
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
