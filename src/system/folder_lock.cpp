#include "system/folder_lock.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::system {
namespace {

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return core::format("process {} on {}\n", ::getpid(), host.data());
}

/// The holder's description of itself, which it may not have written yet.
std::string holder_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  return std::getline(file, text) && !text.empty() ? text : "another process";
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& name) : FolderLock(folder, name, {}) {}

FolderLock::FolderLock(const std::string& folder, const std::vector<std::size_t>& parts)
    : FolderLock(folder, ".lock", parts) {}

FolderLock::FolderLock(const std::string& folder, const std::string& name, const std::vector<std::size_t>& parts)
    : path_(folder + "/" + name), whole_(parts.empty()) {
  std::error_code error;
  create_folders(folder, error);
  if (error) throw core::ConfigError(core::format("cannot write into the folder '{}': {}", folder, error.message()));
  file_ = LockedFile::open(path_, parts);
  if (!file_)
    throw core::ConfigError(core::format("the folder '{}' is in use by {}: wait until it ends, or choose another folder",
                                         folder, holder_in(path_)));
  const std::string text = whole_ ? this_process() : "";
  // The lock holds even if the description cannot be written.
  if (::ftruncate(file_->descriptor(), 0) == 0) (void)!::pwrite(file_->descriptor(), text.data(), text.size(), 0);
}

FolderLock::~FolderLock() {
  if (file_ && whole_) ::unlink(path_.c_str());
}

}  // namespace paragrad::system
