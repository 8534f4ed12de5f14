#pragma once

#include <string>

namespace paragrad::core {

/// Throws ConfigError where the file system of `path` (a file to be written, in a folder that exists) has certainly fewer
/// than `bytes` free: "'x.h5' needs 16TB more, but 20GB are free on its disk". To be asked before a long write; that a disk
/// fills up meanwhile, or a quota does, is found out by the write itself.
void require_free_space(const std::string& path, double bytes);

}  // namespace paragrad::core
