#pragma once

#include <string>
#include <vector>

namespace paragrad::data {

/// Checks every promise of the format (data/README.md) in every byte of the file: label range, finite features, content
/// checksum, each stored partition. Returns one sentence per broken promise, empty if all are kept.
/// Throws ConfigError where the file cannot be opened at all, or breaks what Dataset::open() checks.
std::vector<std::string> verify(const std::string& path);

}  // namespace paragrad::data
