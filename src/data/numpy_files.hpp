#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "system/file_map.hpp"

namespace paragrad::data {

/// The bytes of an array's file: in memory, or where the file system has them.
class NumpyFile {
 public:
  explicit NumpyFile(std::vector<std::byte> read) : read_(std::move(read)) {}
  explicit NumpyFile(system::FileMap mapped) : mapped_(std::move(mapped)) {}

  std::span<const std::byte> bytes() const { return read_.empty() ? mapped_.bytes() : read_; }

  /// Gives up memory of a part of bytes(), if that can be read again.
  void drop(std::span<const std::byte> part) const {
    if (read_.empty() && !part.empty()) mapped_.drop(part);
  }

 private:
  std::vector<std::byte> read_;
  system::FileMap mapped_;
};

/// Named NumPy arrays, each in the form of a .npy file.
class NumpyFiles {
 public:
  virtual ~NumpyFiles() = default;

  // In alphabetical order.
  virtual std::vector<std::string> names() const = 0;   ///< of all arrays
  virtual std::vector<std::string> others() const = 0;  ///< names of other files and folders, without hidden ones
  virtual bool has(const std::string& array) const = 0;
  /// Throws ConfigError if the array is missing or damaged.
  virtual NumpyFile read(const std::string& array) const = 0;
};

/// An .npz file, compressed or not, or a folder of .npy files. Throws ConfigError if `path` is neither.
std::unique_ptr<NumpyFiles> open_numpy_files(const std::string& path);

}  // namespace paragrad::data
