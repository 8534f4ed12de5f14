#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <system_error>

#include "core/errors.hpp"
#include "system/locked_file.hpp"

namespace paragrad::system {

/// What happens to a file that is a symbolic link.
enum class Links {
  follow,  ///< its target is replaced, and it stays: for names that a user gives
  replace  ///< it is replaced itself, so that no other file changes: for fixed names in a folder, which others may have put
           ///< there
};

/// Replaces a file atomically. The new content is written to `path`.tmp and renamed by commit(); until then `path` stays
/// unchanged, whatever happens (full disk, exception, power cut).
///
/// The temporary file is locked, so that two writers of one path cannot interleave: the second gets a ConfigError.
/// Leftovers of a killed process are overwritten; if `path`.tmp is a link, it is refused.
class FileReplacement {
 public:
  /// Opens and locks an empty `path`.tmp. Throws ConfigError on failure, and if `path` exists and is no regular file.
  explicit FileReplacement(const std::string& path, Links links = Links::follow);
  ~FileReplacement();  ///< removes the temporary file unless committed
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  const std::string& temporary_path() const { return temporary_; }

  /// Copies `path` to the temporary file (sharing blocks where the file system supports it) and compares the two. Throws
  /// ConfigError.
  void copy_original();

  /// Writes the temporary file and reads it back. Throws ConfigError if the write fails or the bytes read back differ.
  void write(std::string_view content);

  /// Flushes the bytes to disk and renames the file. Throws ConfigError and leaves `path` unchanged on failure.
  void commit();

 private:
  core::ConfigError unlike_written() const;

  std::string target_;
  std::string temporary_;
  LockedFile file_;
  bool committed_ = false;
};

/// Flushes a file to disk. Throws ConfigError.
void sync_file(const std::string& path);

/// Flushes the entries of a folder to disk, if its file system supports that.
void sync_folder(const std::string& path);

/// Creates a folder and the missing ones above it, and flushes their names to disk.
void create_folders(const std::filesystem::path& path, std::error_code& error);

/// Throws ConfigError if FileReplacement could not replace the file; for checks before long work. "" is no file.
void require_replaceable(const std::string& path);

/// Replaces a text file with the output of `write`, which is buffered in memory. Throws ConfigError and leaves `path`
/// unchanged on failure.
void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write, Links links = Links::follow);

}  // namespace paragrad::system
