#include "core/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::core {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(format("cannot read '{}': {}", path, std::strerror(errno)));
  try {
    return {std::istreambuf_iterator<char>(file), {}};  // throws where the disk fails
  } catch (const std::ios_base::failure&) {
    throw ConfigError(format("cannot read '{}': {}", path, std::strerror(errno)));
  }
}

}  // namespace paragrad::core
