#include "data/gzip_file.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

namespace paragrad::data {

namespace fs = std::filesystem;

struct GzipFile::Handle {
  explicit Handle(gzFile opened) : file(opened) {}
  ~Handle() { gzclose_r(file); }
  Handle(const Handle&) = delete;
  gzFile file;
};

GzipFile::GzipFile(const std::string& path) : path_(path) {
  if (!fs::is_regular_file(path)) throw core::ConfigError(core::format("cannot read '{}': there is no such file", path));
  const gzFile file = gzopen(path.c_str(), "rb");  // zlib tells gzip from other content
  if (file == nullptr) throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  file_ = std::make_unique<Handle>(file);
  gzbuffer(file, 1 << 18);
}

GzipFile::~GzipFile() = default;

std::string GzipFile::name() const {
  const fs::path path(path_);
  return path.extension() == ".gz" ? path.stem().string() : path.filename().string();
}

std::size_t GzipFile::read(std::span<std::uint8_t> bytes) {
  const int got = gzread(file_->file, bytes.data(), static_cast<unsigned>(bytes.size()));
  int error = Z_OK;
  const char* message = gzerror(file_->file, &error);
  if (got < 0 || (error != Z_OK && error != Z_STREAM_END))
    throw core::ConfigError(core::format("cannot read '{}': {}", path_,
                                         error == Z_ERRNO       ? std::strerror(errno)
                                         : error == Z_BUF_ERROR ? "the gzip file is truncated"
                                                                : message));
  hash_.update(std::as_bytes(bytes.first(static_cast<std::size_t>(got))));
  total_ += static_cast<std::size_t>(got);
  if (total_ >= asked_ / 2) {
    asked_ = 2 * total_;
    core::require_memory(static_cast<double>(total_), core::format("reading more of '{}'", path_));
  }
  return static_cast<std::size_t>(got);
}

}  // namespace paragrad::data
