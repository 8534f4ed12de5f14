#include "system/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::system {
namespace {

core::ConfigError refused(const std::string& path, const std::string& why) {
  return core::ConfigError(core::format("cannot write '{}': {}", path, why));
}

bool is_symbolic_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

int open_unlinked(const std::string& path, int flags) {
  // O_NONBLOCK: a pipe would be waited for.
  const int descriptor = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  const int error = errno;
  struct stat status {};
  const bool opened = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
  if (opened && (S_ISCHR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_nlink <= 1))) return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  if (opened && S_ISREG(status.st_mode))
    throw refused(path, "it is a hard link to a file with another name, which would change; remove the link");
  if (is_symbolic_link(path)) throw refused(path, "it is a symbolic link, which is not followed; remove it");
  throw refused(path, descriptor >= 0 || error == ENXIO ? "it is not a regular file; remove it" : std::strerror(error));
}

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw std::system_error(errno, std::generic_category());
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

OutputFile::OutputFile(std::string path, Begin begin)
    : path_(std::move(path)), descriptor_(open_unlinked(path_, O_WRONLY | (begin == Begin::append ? O_APPEND : 0))) {
  // Not O_TRUNC: only what was not refused is emptied.
  if (begin == Begin::empty && ::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) {
    const int error = errno;
    ::close(descriptor_);
    throw refused(path_, std::strerror(error));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view text) {
  try {
    write_all(descriptor_, text);
  } catch (const std::system_error& error) {
    throw refused(path_, error.code().message());
  }
}

}  // namespace paragrad::system
