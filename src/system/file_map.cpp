#include "system/file_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::system {

FileMap::FileMap(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return;
  bytes_ = {static_cast<const std::byte*>(memory), size};
  descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

FileMap FileMap::open(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw core::ConfigError(core::format("cannot read '{}': it is not a regular file", path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  FileMap map(descriptor);
  ::close(descriptor);
  if (map.bytes().empty() && status.st_size > 0)
    throw core::ConfigError(core::format("cannot read '{}': its file system cannot map it into memory", path));
  return map;
}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileMap::FileMap(FileMap&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

namespace {

void advise(std::span<const std::byte> part, int advice) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()), first = begin / page * page;
  ::madvise(reinterpret_cast<void*>(first), begin + part.size() - first, advice);
}

}  // namespace

void FileMap::read_soon(std::span<const std::byte> part) const { advise(part, MADV_WILLNEED); }
void FileMap::read_by_page(std::span<const std::byte> part) const { advise(part, MADV_RANDOM); }

void FileMap::drop(std::span<const std::byte> part) const { advise(part, MADV_DONTNEED); }

bool FileMap::in_memory(std::span<const std::byte> part) const {
#ifdef RWF_NOWAIT
  std::byte first{};
  const iovec into{&first, 1};
  return ::preadv2(descriptor_, &into, 1, part.data() - bytes_.data(), RWF_NOWAIT) == 1;
#else
  return false;
#endif
}

}  // namespace paragrad::system
