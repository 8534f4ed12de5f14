#pragma once

#include <string>

namespace paragrad::system {

/// Throws ConfigError if the file system of `path` (a file to be written, in an existing folder) certainly has less than
/// `bytes` free: "'x.h5' needs 16TB more, but its disk has only 20GB free". Call it before a long write; a disk or quota
/// that fills up later makes the write itself fail.
void require_free_space(const std::string& path, double bytes);

}  // namespace paragrad::system
