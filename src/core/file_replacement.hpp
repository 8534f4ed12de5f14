#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "core/errors.hpp"
#include "core/locked_file.hpp"

namespace paragrad::core {

/// A file that takes another's place only when it is complete. It is written beside its final name, as `path`.tmp, and
/// renamed by commit(); until then, whatever happens (full disk, exception, power cut), `path` is as it was.
///
/// The temporary file is locked, so that two writers of one path do not mix their bytes: the second gets a ConfigError.
/// What a killed process left behind is overwritten. A `path` that is a symbolic link keeps pointing where it did.
class FileReplacement {
 public:
  /// Opens and locks an empty `path`.tmp. Throws ConfigError if that is not possible.
  explicit FileReplacement(const std::string& path);
  ~FileReplacement();  ///< removes the temporary file unless committed
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  const std::string& temporary_path() const { return temporary_; }

  /// Fills the temporary file with the bytes of `path` (shared with the original where the file system can do that), and
  /// compares the two. Throws ConfigError.
  void copy_original();

  /// Fills the temporary file and reads it back. Throws ConfigError: a write that failed, or other bytes than were written.
  void write(std::string_view content);

  /// Forces the bytes to the disk and gives the file its name. Throws ConfigError, `path` being as it was.
  void commit();

 private:
  ConfigError unlike_written() const;

  std::string target_;
  std::string temporary_;
  LockedFile file_;
  bool committed_ = false;
};

/// Forces what was written to a file to the disk. Throws ConfigError.
void sync_file(const std::string& path);

/// The same of the names in a folder, as far as its file system can do that.
void sync_folder(const std::string& path);

/// Replaces a text file by what `write` puts out, which is kept in memory meanwhile. Throws ConfigError; `path` is then as
/// it was.
void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace paragrad::core
