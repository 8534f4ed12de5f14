#pragma once

#include <string>

namespace paragrad::core {

/// Reads a whole file. Throws ConfigError if it is missing or cannot be read to its end.
std::string read_text(const std::string& path);

}  // namespace paragrad::core
