#include "python/temporary_folder.hpp"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace paragrad::python {
namespace {

std::map<std::string, pid_t> folders;  // and who has made them; guarded by the interpreter's lock

void remove_folder(const std::string& path, pid_t maker) {
  std::error_code ignored;
  if (maker == ::getpid()) std::filesystem::remove_all(path, ignored);
}

}  // namespace

TemporaryFolder::TemporaryFolder(std::string path) : path_(std::move(path)) { folders.emplace(path_, ::getpid()); }

TemporaryFolder::~TemporaryFolder() {
  const auto found = folders.find(path_);
  if (found == folders.end()) return;
  remove_folder(path_, found->second);
  folders.erase(found);
}

void TemporaryFolder::remove_all() {
  for (const auto& [path, maker] : std::exchange(folders, {})) remove_folder(path, maker);
}

}  // namespace paragrad::python
