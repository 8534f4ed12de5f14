#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace paragrad::data {

/// Named NumPy arrays, each in the form of a .npy file.
class NumpyFiles {
 public:
  virtual ~NumpyFiles() = default;

  // In alphabetical order.
  virtual std::vector<std::string> names() const = 0;   ///< of all arrays
  virtual std::vector<std::string> others() const = 0;  ///< names of other files and folders, without hidden ones
  virtual bool has(const std::string& array) const = 0;
  /// The bytes of the array's file. Throws ConfigError if it is missing or damaged.
  virtual std::vector<std::byte> read(const std::string& array) const = 0;
};

/// An .npz file, compressed or not, or a folder of .npy files. Throws ConfigError if `path` is neither.
std::unique_ptr<NumpyFiles> open_numpy_files(const std::string& path);

}  // namespace paragrad::data
