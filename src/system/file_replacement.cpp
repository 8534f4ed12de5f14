#include "system/file_replacement.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <sstream>
#include <vector>

#include "core/format.hpp"
#include "system/files.hpp"
#include "system/output_file.hpp"

namespace paragrad::system {
namespace {

core::ConfigError failure(std::string_view action, const std::string& path, int error) {
  return core::ConfigError(core::format("cannot {} '{}': {}", action, path, std::strerror(error)));
}

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

LockedFile open_locked(const std::string& path) {
  if (auto file = LockedFile::open(path)) return std::move(*file);
  throw core::ConfigError(core::format("'{}' is being written by another process; wait until it finishes", path));
}

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

std::string_view text_at(int from, std::uint64_t offset, std::span<char> chunk) {
  return {chunk.data(), read_at(from, offset, chunk)};
}

/// Whether the file contains these bytes at `offset`; for empty `expected`, whether it ends there.
bool holds(int file, std::uint64_t offset, std::string_view expected, std::vector<char>& scratch) {
  scratch.resize(std::max<std::size_t>(expected.size(), 1));
  return text_at(file, offset, scratch) == expected;
}

void copy_by_hand(int from, int to) {
  std::vector<char> chunk(chunk_bytes);
  for (auto offset = static_cast<std::uint64_t>(::lseek(from, 0, SEEK_CUR));;) {
    const auto bytes = text_at(from, offset, chunk);
    if (bytes.empty()) return;
    write_all(to, bytes);
    offset += bytes.size();
  }
}

void copy_bytes(int from, int to) {
  for (;;) {
    const auto copied = ::copy_file_range(from, nullptr, to, nullptr, std::size_t{1} << 30, 0);
    if (copied == 0) return;
    if (copied > 0) continue;
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT || errno == EIO)
      throw std::system_error(errno, std::generic_category());
    return copy_by_hand(from, to);  // unsupported between these files; both positions match the copy's progress
  }
}

/// The file to replace, which the last of a chain of links may name before it exists. Throws ConfigError for a device, a
/// pipe or a folder.
std::string resolved(const std::string& path, Links links) {
  namespace fs = std::filesystem;
  std::error_code missing;
  const fs::file_status status = links == Links::follow ? fs::status(path, missing) : fs::symlink_status(path, missing);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_symlink(status))
    throw core::ConfigError(
        core::format("'{}' is not a regular file and would be replaced by one: choose another name", path));
  if (links == Links::replace) return path;
  fs::path target = fs::canonical(path, missing);
  if (!missing) return target.string();
  constexpr int most_links = 40;
  target = path;
  for (int links = 0; links < most_links && fs::is_symlink(fs::symlink_status(target, missing)); ++links)
    target = target.parent_path() / fs::read_symlink(target);
  return target.string();
}

}  // namespace

FileReplacement::FileReplacement(const std::string& path, Links links)
    : target_(resolved(path, links)), temporary_(target_ + ".tmp"), file_(open_locked(temporary_)) {
  if (::ftruncate(file_.descriptor(), 0) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    throw failure("empty", temporary_, error);
  }
  struct stat original {};
  if (::lstat(target_.c_str(), &original) == 0 && S_ISREG(original.st_mode))
    (void)::fchmod(file_.descriptor(), original.st_mode & 0777);
}

FileReplacement::~FileReplacement() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void FileReplacement::copy_original() {
  const Descriptor from{::open(target_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (from.value < 0) throw failure("read", target_, errno);
  try {
    copy_bytes(from.value, file_.descriptor());
    std::vector<char> chunk(chunk_bytes), copy;
    for (std::uint64_t offset = 0;; offset += chunk_bytes) {
      const auto bytes = text_at(from.value, offset, chunk);
      if (!holds(file_.descriptor(), offset, bytes, copy)) throw unlike_written();
      if (bytes.empty()) return;
    }
  } catch (const std::system_error& error) {
    throw failure("copy to", temporary_, error.code().value());
  }
}

void FileReplacement::write(std::string_view content) {
  try {
    write_all(file_.descriptor(), content);
    std::vector<char> scratch;
    if (!holds(file_.descriptor(), 0, content, scratch) || !holds(file_.descriptor(), content.size(), {}, scratch))
      throw unlike_written();
  } catch (const std::system_error& error) {
    throw failure("write", target_, error.code().value());
  }
}

core::ConfigError FileReplacement::unlike_written() const {
  return core::ConfigError(
      core::format("cannot write '{}': the data read back differs from the data written; check the disk", target_));
}

void FileReplacement::commit() {
  if (::fsync(file_.descriptor()) != 0) throw failure("write", temporary_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw failure("replace", target_, errno);
  committed_ = true;
  sync_folder(std::filesystem::path(target_).parent_path().string());
}

void sync_folder(const std::string& path) {
  const Descriptor folder{::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.value >= 0) (void)::fsync(folder.value);  // some file systems refuse; the rename holds anyway
}

void sync_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0 || ::fsync(file.value) != 0) throw failure("write", path, errno);
}

void create_folders(const std::filesystem::path& path, std::error_code& error) {
  std::filesystem::path folder;
  for (const auto& name : path) {
    folder /= name;
    if (std::filesystem::create_directories(folder, error)) sync_folder((folder / "..").string());
    if (error) return;
  }
}

void require_replaceable(const std::string& path) {
  if (!path.empty()) FileReplacement{path};
}

void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write, Links links) {
  FileReplacement replacement(path, links);
  std::ostringstream content;
  write(content);
  replacement.write(content.view());
  replacement.commit();
}

}  // namespace paragrad::system
