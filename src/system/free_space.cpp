#include "system/free_space.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::system {

void require_free_space(const std::string& path, double bytes) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct statvfs status {};
  // Ask about the file that will be replaced, which follows a symbolic link; otherwise about its folder.
  if (::statvfs(path.c_str(), &status) != 0 && ::statvfs(folder.empty() ? "." : folder.c_str(), &status) != 0) return;
  if (status.f_blocks == 0) return;  // the file system does not report its size
  const auto blocks = ::geteuid() == 0 ? status.f_bfree : status.f_bavail;
  const double free = static_cast<double>(blocks) * static_cast<double>(status.f_frsize);
  if (bytes <= free) return;
  throw core::ConfigError(core::format("'{}' needs {} more, but its disk has only {} free", path,
                                       core::format_quantity(bytes, core::Unit::bytes),
                                       core::format_quantity(free, core::Unit::bytes)));
}

}  // namespace paragrad::system
