#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/sha256.hpp"

namespace paragrad::data {

/// Reads a file from beginning to end, decompressed if it is gzip. As a small file may become a large content, which readers
/// keep, each time that the content has doubled there must be memory for as much again.
class GzipFile {
 public:
  /// Throws ConfigError if it cannot be read.
  explicit GzipFile(const std::string& path);
  ~GzipFile();

  const std::string& path() const { return path_; }
  std::string name() const;  ///< without folder and .gz

  /// Up to `bytes.size()` bytes; fewer only at the end. Throws ConfigError for a disk error, for damaged gzip and for too
  /// little memory.
  std::size_t read(std::span<std::uint8_t> bytes);

  /// Of all bytes read, as they come out; ends the computation.
  std::string sha256() { return hash_.finish(); }

 private:
  struct Handle;
  std::string path_;
  std::unique_ptr<Handle> file_;
  core::Sha256 hash_;
  std::size_t total_ = 0, asked_ = std::size_t{1} << 27;  // bytes of content
};

}  // namespace paragrad::data
