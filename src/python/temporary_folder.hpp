#pragma once

#include <string>

namespace paragrad::python {

/// A folder that is removed with this object, by the process that has made it and not by a copy of that (fork). Without code
/// in Python, in which a signal's handler might raise an exception that nobody sees.
class TemporaryFolder {
 public:
  /// path: of a folder that exists.
  explicit TemporaryFolder(std::string path);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Removes those that are left, when the interpreter ends.
  static void remove_all();

 private:
  std::string path_;
};

}  // namespace paragrad::python
