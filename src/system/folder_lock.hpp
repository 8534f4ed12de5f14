#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "system/locked_file.hpp"

namespace paragrad::system {

/// Reserves a folder for one process by a locked file in it, `.lock`, which names the process. The file of a killed process
/// stays in the folder and is ignored.
class FolderLock {
 public:
  /// Creates the folder if missing. Throws ConfigError if another process holds the folder (the message gives its id and
  /// host) or if the folder is not writable.
  /// name: of the file; locks of different names do not exclude each other.
  explicit FolderLock(const std::string& folder, const std::string& name = ".lock");

  /// Reserves only these parts of the folder, which are numbers: excludes processes that hold one of them or the whole
  /// folder. The file then names no process, and stays in the folder.
  FolderLock(const std::string& folder, const std::vector<std::size_t>& parts);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept
      : path_(std::move(other.path_)), whole_(other.whole_), file_(std::exchange(other.file_, std::nullopt)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(whole_, other.whole_);
    std::swap(file_, other.file_);
    return *this;
  }

 private:
  FolderLock(const std::string& folder, const std::string& name, const std::vector<std::size_t>& parts);

  std::string path_;
  bool whole_;
  std::optional<LockedFile> file_;
};

}  // namespace paragrad::system
