#include "system/cores.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;

namespace {

void put_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

}  // namespace

TEST_CASE("the quota of a container or a job is the least limit of its control groups", "[system]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path root = folder.path(), groups = root / "sys/fs/cgroup";
  const auto quota = [&] { return system::core_quota(root.string()).cores; };

  SECTION("cgroups v2: of the group, and of those above it") {
    put_file(root / "proc/self/cgroup", "0::/pod/container");
    CHECK(std::isinf(quota()));
    put_file(groups / "pod/container/cpu.max", "max 100000");
    CHECK(std::isinf(quota()));
    put_file(groups / "pod/cpu.max", "150000 100000");
    CHECK(quota() == 1.5);
    put_file(groups / "pod/container/cpu.max", "50000 100000");
    CHECK(quota() == 0.5);
  }
  SECTION("cgroups v2: within a container, whose group is the root") {
    put_file(root / "proc/self/cgroup", "0::/");
    put_file(groups / "cpu.max", "200000 100000");
    CHECK(quota() == 2);
  }
  SECTION("cgroups v1: a group of the host has no folder within a container") {
    put_file(root / "proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc");
    put_file(groups / "cpu,cpuacct/cpu.cfs_quota_us", "-1");
    put_file(groups / "cpu,cpuacct/cpu.cfs_period_us", "100000");
    CHECK(std::isinf(quota()));
    put_file(groups / "cpu,cpuacct/cpu.cfs_quota_us", "300000");
    CHECK(quota() == 3);
  }
  SECTION("nothing that can be read is no limit") { CHECK(std::isinf(quota())); }
  SECTION("the group of the limit is told, whichever group below it asks") {
    put_file(groups / "job/cpu.max", "400000 100000");
    put_file(root / "proc/self/cgroup", "0::/job/task_0");
    const auto first = system::core_quota(root.string());
    put_file(root / "proc/self/cgroup", "0::/job/task_1");
    CHECK(system::core_quota(root.string()).group == first.group);
    CHECK(first.group != 0);
  }
}

TEST_CASE("a quota is rounded up to whole cores and is no reason for more than there are", "[system]") {
  CHECK(system::within_quota(8, 0.2) == 1);
  CHECK(system::within_quota(8, 1.5) == 2);
  CHECK(system::within_quota(8, 64) == 8);
  CHECK(system::within_quota(8, std::numeric_limits<double>::infinity()) == 8);
  CHECK(system::available_cores() >= 1);
}
