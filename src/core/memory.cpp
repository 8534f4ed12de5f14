#include "core/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::core {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

/// The number after `key` at the beginning of a line.
std::optional<std::uint64_t> entry(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    if (text.starts_with(key)) return number_in(text.substr(key.size()));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return std::nullopt;
}

std::uint64_t less(std::uint64_t whole, std::uint64_t part) { return whole - std::min(whole, part); }

/// Memory that the group can still allocate: only anonymous memory, which is neither file cache nor the kernel's, counts
/// as certainly taken.
std::optional<std::uint64_t> free_in(const MemorySources::Group& group) {
  const auto limit = number_in(group.limit);  // none: "max"
  if (!limit) return std::nullopt;
  const auto version_2 = entry(group.statistics, "anon "), version_1 = entry(group.statistics, "total_rss ");
  return less(*limit, version_2.value_or(version_1.value_or(0)));
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Under the mount point `base`, a process finds its group at its path or, in a container, at `base` itself.
void add_groups(const std::string& base, std::string path, const char* limit, std::vector<MemorySources::Group>& groups) {
  for (;; path.resize(path.rfind('/'))) {
    const std::string folder = base + path + "/";
    if (std::string text = text_of_file(folder + limit); !text.empty())
      groups.push_back({std::move(text), text_of_file(folder + "memory.stat")});
    if (path.find('/') == std::string::npos) return;
  }
}

std::vector<MemorySources::Group> groups_of_this_process() {
  std::vector<MemorySources::Group> groups;
  std::ifstream file("/proc/self/cgroup");  // "0::/path", or "4:memory:/path" in version 1
  for (std::string line; std::getline(file, line);) {
    const auto names = line.find(':'), path = line.find(':', names + 1);
    if (names == std::string::npos || path == std::string::npos) continue;
    const std::string controllers = line.substr(names + 1, path - names - 1);
    if (controllers.empty()) add_groups("/sys/fs/cgroup", line.substr(path + 1), "memory.max", groups);
    if (controllers == "memory") add_groups("/sys/fs/cgroup/memory", line.substr(path + 1), "memory.limit_in_bytes", groups);
  }
  return groups;
}

MemorySources sources_of_this_process() {
  MemorySources sources{text_of_file("/proc/meminfo"), groups_of_this_process(), std::nullopt, 0};
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    sources.address_space = address_space.rlim_cur;
    const auto pages = number_in(text_of_file("/proc/self/statm"));
    sources.used_address_space = pages.value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  return sources;
}

std::string size_of(double bytes) { return format_quantity(bytes, Unit::bytes); }

}  // namespace

std::optional<std::uint64_t> free_memory(const MemorySources& sources) {
  std::optional<std::uint64_t> least;
  const auto at_most = [&](std::optional<std::uint64_t> bytes) {
    if (bytes) least = std::min(*bytes, least.value_or(*bytes));
  };
  const auto swap = entry(sources.meminfo, "SwapFree:").value_or(0) * 1024;
  if (const auto available = entry(sources.meminfo, "MemAvailable:")) at_most(*available * 1024 + swap);
  for (const auto& group : sources.groups)
    if (const auto free = free_in(group))
      at_most(*free > std::numeric_limits<std::uint64_t>::max() - swap ? *free : *free + swap);
  if (sources.address_space) at_most(less(*sources.address_space, sources.used_address_space));
  return least;
}

std::optional<std::uint64_t> free_memory() { return free_memory(sources_of_this_process()); }

void require_memory(double bytes, std::string_view what) {
  constexpr double any_address_space = 0x1p57;
  const auto free = free_memory();
  const double most = free ? static_cast<double>(*free) : any_address_space;
  if (bytes <= most) return;
  throw ConfigError(free ? format("{} needs {} of memory, but only {} is free", what, size_of(bytes), size_of(most))
                         : format("{} needs {} of memory, more than any machine has", what, size_of(bytes)));
}

std::string out_of_memory() {
  try {
    const auto free = free_memory();
    return format(
        "out of memory{}: use a smaller model, less data or fewer workers, or raise the limit (ulimit -v, the job's memory)",
        free ? format(" ({} free)", size_of(static_cast<double>(*free))) : "");
  } catch (const std::bad_alloc&) {
    return "out of memory";  // short enough to need none
  }
}

}  // namespace paragrad::core
