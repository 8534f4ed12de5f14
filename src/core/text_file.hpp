#pragma once

#include <string>

namespace paragrad::core {

/// All of a file. Throws ConfigError where it is missing or cannot be read to its end.
std::string read_text(const std::string& path);

}  // namespace paragrad::core
