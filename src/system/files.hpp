#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace paragrad::system {

/// Reads a whole file. Throws ConfigError if it is missing, a pipe, or cannot be read to its end.
std::string read_text(const std::string& path);

/// Reads an open file from `offset` until `into` is full or the file ends. Returns the number of bytes read; throws
/// std::system_error.
std::size_t read_at(int descriptor, std::uint64_t offset, std::span<char> into);

/// "cannot use 'runs/a': Permission denied"
std::string describe(const std::filesystem::filesystem_error& error);

}  // namespace paragrad::system
