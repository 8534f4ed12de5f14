#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace paragrad::system {

/// How much processor time a container or a batch job grants its processes together: the least of the limits of a process's
/// control group and those above it (cgroups v2: cpu.max; v1: cpu.cfs_quota_us).
struct CoreQuota {
  double cores = std::numeric_limits<double>::infinity();  ///< without a limit
  std::uint64_t group = 0;  ///< identifies the group that has the limit, on this machine; 0: none
};

/// root: of the file system in which /proc and /sys/fs/cgroup are, for tests.
CoreQuota core_quota(const std::string& root = "");

/// How many cores this process may use: those that the scheduler may run it on, or the quota, rounded up, if that is less.
/// At least 1.
int available_cores();

/// `cores`, or a quota if that is less.
int within_quota(int cores, double quota);

}  // namespace paragrad::system
