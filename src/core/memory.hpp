#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::core {

/// What the system tells of a process's memory. Texts are files as they are read; an empty one is missing.
struct MemorySources {
  /// A control group's limit (memory.max, or version 1's memory.limit_in_bytes) and memory.stat.
  struct Group {
    std::string limit;
    std::string statistics;
  };

  std::string meminfo{};                         ///< /proc/meminfo
  std::vector<Group> groups{};                   ///< the process's and those above it
  std::optional<std::uint64_t> address_space{};  ///< RLIMIT_AS in bytes, where there is a limit
  std::uint64_t used_address_space = 0;          ///< in bytes
};

/// Bytes that the process can still take, and no fewer: memory that the system would have to empty first (caches, swap)
/// counts as free. Nothing where no source tells.
std::optional<std::uint64_t> free_memory(const MemorySources& sources);

/// Of this process, now.
std::optional<std::uint64_t> free_memory();

/// Throws ConfigError where `bytes` are certainly more than is free: "{what} needs 14.4GB of memory, but 5.9GB are free".
/// bytes: a double, for products that no integer holds.
void require_memory(double bytes, std::string_view what);

/// What to tell a user where an allocation has failed.
std::string out_of_memory();

}  // namespace paragrad::core
