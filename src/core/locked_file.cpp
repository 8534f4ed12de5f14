#include "core/locked_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::core {
namespace {

/// False if another process holds the lock.
bool lock(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool same_file(int descriptor, const std::string& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::string& path) {
  for (;;) {
    LockedFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file.descriptor() < 0) throw ConfigError(format("cannot create '{}': {}", path, std::strerror(errno)));
    if (!lock(file.descriptor())) return std::nullopt;
    if (same_file(file.descriptor(), path)) return file;
    // The holder renamed or removed the file between our open and our lock: try again.
  }
}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace paragrad::core
