#pragma once

#include <string>

namespace paragrad::data {

/// Throws ConfigError if `path` is a file or a folder in a format that an importer reads, with the command that makes a data
/// file from it. Its first bytes and its name tell; files that begin as HDF5 files do, or are unknown, pass.
void refuse_importable(const std::string& path);

}  // namespace paragrad::data
