#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::core {

/// What the system reports about a process's memory. Texts are the files' contents; empty if a file is missing.
struct MemorySources {
  /// A control group's limit (memory.max, or version 1's memory.limit_in_bytes) and memory.stat.
  struct Group {
    std::string limit;
    std::string statistics;
  };

  std::string meminfo{};                         ///< /proc/meminfo
  std::vector<Group> groups{};                   ///< the process's control group and its ancestors
  std::optional<std::uint64_t> address_space{};  ///< RLIMIT_AS in bytes, if limited
  std::uint64_t used_address_space = 0;          ///< in bytes
};

/// Upper bound on the bytes that the process can still allocate: memory that the system would have to reclaim first
/// (caches, swap) counts as free. nullopt if no source gives a number.
std::optional<std::uint64_t> free_memory(const MemorySources& sources);

/// The same for this process, now.
std::optional<std::uint64_t> free_memory();

/// Throws ConfigError if `bytes` certainly exceed the free memory: "{what} needs 14.4GB of memory, but only 5.9GB is free".
/// bytes: a double, for products that overflow integers.
void require_memory(double bytes, std::string_view what);

/// The message for the user after a failed allocation.
std::string out_of_memory();

}  // namespace paragrad::core
