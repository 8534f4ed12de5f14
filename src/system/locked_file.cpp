#include "system/locked_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "system/output_file.hpp"

namespace paragrad::system {
namespace {

/// Locks `bytes` (0: all) bytes from `begin` on, which the file need not have. False if another process holds one of them.
bool lock(int descriptor, std::size_t begin, std::size_t bytes) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(begin);
  range.l_len = static_cast<off_t>(bytes);
  return ::fcntl(descriptor, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool lock(int descriptor, const std::vector<std::size_t>& parts) {
  if (parts.empty()) return lock(descriptor, 0, 0);
  return std::ranges::all_of(parts, [&](std::size_t part) { return lock(descriptor, part, 1); });
}

bool same_file(int descriptor, const std::string& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::string& path, const std::vector<std::size_t>& parts) {
  for (;;) {
    LockedFile file(open_unlinked(path, O_RDWR));
    if (!lock(file.descriptor(), parts)) return std::nullopt;
    if (same_file(file.descriptor(), path)) return file;
    // The holder renamed or removed the file between our open and our lock: try again.
  }
}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace paragrad::system
