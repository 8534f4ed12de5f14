#include "core/file_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::core {

FileMap::FileMap(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(memory), size};
}

FileMap FileMap::open(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw ConfigError(format("cannot read '{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw ConfigError(format("cannot read '{}': it is not a regular file", path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw ConfigError(format("cannot read '{}': {}", path, std::strerror(errno)));
  FileMap map(descriptor);
  ::close(descriptor);
  if (map.bytes().empty() && status.st_size > 0)
    throw ConfigError(format("cannot read '{}': its file system cannot map it into memory", path));
  return map;
}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileMap::FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace paragrad::core
