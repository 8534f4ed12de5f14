#include "system/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::system {

std::string read_text(const std::string& path) {
  std::error_code missing;
  if (std::filesystem::is_fifo(path, missing))
    throw core::ConfigError(core::format("cannot read '{}': it is a pipe, which may never end", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  try {
    return {std::istreambuf_iterator<char>(file), {}};  // throws where the disk fails
  } catch (const std::ios_base::failure&) {
    throw core::ConfigError(core::format("cannot read '{}': {}", path, std::strerror(errno)));
  }
}

std::size_t read_at(int descriptor, std::uint64_t offset, std::span<char> into) {
  std::size_t got = 0;
  while (got < into.size()) {
    const auto more = ::pread(descriptor, into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) throw std::system_error(errno, std::generic_category());
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  return got;
}

std::string describe(const std::filesystem::filesystem_error& error) {
  return core::format("cannot use '{}': {}", error.path1().string(), error.code().message());
}

}  // namespace paragrad::system
