#include "system/cores.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

namespace paragrad::system {
namespace {

namespace fs = std::filesystem;

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Of cpu.max, "150000 100000" or "max 100000": microseconds of processor time in a period.
double limit_v2(const fs::path& group) {
  double quota = 0, period = 0;
  return std::ifstream(group / "cpu.max") >> quota >> period && quota > 0 && period > 0 ? quota / period : unlimited;
}

double limit_v1(const fs::path& group) {
  double quota = 0, period = 0;  // a quota of -1: none
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : unlimited;
}

/// The least limit from `group` up to the mounted hierarchy. Within a container, groups of the host's have no folder.
void take_least(CoreQuota& least, const fs::path& mount, const std::string& group, double (*limit)(const fs::path&)) {
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    if (const double cores = limit(mount / path); cores < least.cores)
      least = {cores, std::hash<std::string>{}((mount / path).string()) | 1U};
    if (path.empty()) return;
  }
}

}  // namespace

CoreQuota core_quota(const std::string& root) {
  CoreQuota least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice" of v2, "4:cpu,cpuacct:/user.slice" of v1
    std::istringstream fields(line);
    std::string number, controllers, group;
    if (!std::getline(std::getline(std::getline(fields, number, ':'), controllers, ':'), group)) continue;
    const fs::path mounts = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      take_least(least, mounts, group, limit_v2);
      take_least(least, mounts / "unified", group, limit_v2);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      take_least(least, mounts / controllers, group, limit_v1);
      take_least(least, mounts / "cpu", group, limit_v1);
    }
  }
  struct stat name_space {};
  if (least.group != 0 && ::stat((root + "/proc/self/ns/cgroup").c_str(), &name_space) == 0)
    least.group ^= static_cast<std::uint64_t>(name_space.st_ino) << 1U;  // containers have the same paths
  return least;
}

int within_quota(int cores, double quota) {
  return std::max(1, static_cast<int>(std::min(static_cast<double>(cores), std::ceil(quota))));
}

int available_cores() {
  // The C++ library counts those of the affinity mask.
  return within_quota(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())), core_quota().cores);
}

}  // namespace paragrad::system
