#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace paragrad::system {

/// A file that is written from its end or anew, in a folder that others may write to. A link of its name is not followed,
/// because it could lead to any file of the user: symbolic links and files with several names (hard links) are refused, and
/// so are pipes and folders.
class OutputFile {
 public:
  enum class Begin { empty, append };

  OutputFile() = default;
  /// Creates the file if missing. Throws ConfigError.
  OutputFile(std::string path, Begin begin);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputFile& operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  /// The text is in the file when this returns. Throws ConfigError, also for a full disk.
  void write(std::string_view text);

  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Opens a file with these flags of open(2) and O_CREAT, and refuses what OutputFile refuses. Throws ConfigError.
int open_unlinked(const std::string& path, int flags);

/// Writes everything, in as many calls as needed. Throws std::system_error.
void write_all(int descriptor, std::string_view bytes);

}  // namespace paragrad::system
