#pragma once

#include <string>
#include <vector>

namespace paragrad::data {

/// Checks every guarantee of the format (data/README.md) in every byte of the file: label range, finite features and
/// targets, content checksum, each stored partition. Returns one sentence per violation, empty if there is none. Throws
/// ConfigError if the file cannot be opened or fails the checks of Dataset::open().
std::vector<std::string> verify(const std::string& path);

}  // namespace paragrad::data
