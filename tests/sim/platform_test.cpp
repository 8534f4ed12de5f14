#include "sim/platform.hpp"

#include <cmath>
#include <filesystem>

#include "catch.hpp"
#include "core/errors.hpp"
#include "every_key.hpp"
#include "sim/builtin_platforms.hpp"
#include "sim/simulation.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;

namespace {

// The least that a file must hold.
const std::string least = R"([cluster]
nodes = 1
devices_per_node = 2
[device]
peak = "4.29TFLOPs"
memory_bandwidth = "288GBps"
gemm_efficiency = 0.6
memory_efficiency = 1
launch = "0us"
[peer]
latency = "10us"
bandwidth = "6.15GBps"
[message]
eager = "64kB"
)";

// The platform file with every key, with one line replaced (or, by an empty text, removed).
std::string with(const std::string& line, const std::string& replacement) {
  std::string text = platform_with_every_key;
  const auto at = text.find(line + "\n");
  REQUIRE(at != text.npos);
  return text.replace(at, line.size() + (replacement.empty() ? 1 : 0), replacement);
}

// What reading the text as a file complains about.
std::string complaint(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("odd.toml");
  test::write_text(file, text);
  try {
    read_platform(file);
  } catch (const core::ConfigError& error) {
    const std::string what = error.what();
    CHECK_THAT(what, contains_text(file));
    return what;
  }
  return "";
}

}  // namespace

TEST_CASE("a platform file is read into SI units", "[sim]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("my-cluster.toml"), platform_with_every_key);
  const Platform platform = read_platform(folder.file("my-cluster.toml"));
  CHECK(platform.name == "my-cluster");
  CHECK(platform.file == folder.file("my-cluster.toml"));
  CHECK(platform.workers() == 24);
  CHECK(platform.leaves() == 2);
  CHECK(platform.sockets_per_node == 2);
  CHECK(platform.taper == 1.5);
  CHECK(platform.spine_bytes_per_s == Approx(20e9));
  CHECK(platform.device.flops_per_s == Approx(4.29e12));
  CHECK(platform.device.memory_efficiency == 1);
  CHECK(platform.device.launch_s == Approx(8e-6));
  CHECK(platform.peer.bytes_per_s == Approx(6.15e9));
  CHECK(platform.leaf.latency_s == Approx(9.3e-6));
  CHECK(platform.leaf.bytes_per_s == Approx(4.2e9));
  CHECK(platform.leaf.nics_per_node == 2);
  CHECK(platform.self->bytes_per_s == Approx(100e9));
  CHECK(platform.node.latency_s == Approx(11e-6));
  CHECK(platform.node.bytes_per_s == Approx(5e9));
  CHECK(platform.node.shared_bytes_per_s == Approx(5.5e9));
  CHECK(platform.core_latency_s == Approx(9.8e-6));
}

TEST_CASE("the optional sections of a platform file are read too", "[sim]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("full.toml"), platform_with_every_key);
  const Platform platform = read_platform(folder.file("full.toml"));
  const Platform::Message& message = platform.message;
  CHECK(message.send_overhead_s == Approx(1e-7));
  CHECK(message.receive_overhead_s == Approx(2e-7));
  CHECK(message.gap_s == Approx(3e-7));
  CHECK(message.eager_bytes == 64000);
  CHECK(message.handshake);
  CHECK(message.copy_bytes_per_s == Approx(7e9));
  CHECK(message.segment_bytes == 2'000'000);
  CHECK(message.window == 3);
  REQUIRE(platform.size_classes.size() == 2);
  CHECK(platform.size_classes[0].latency_factor == 1.5);
  CHECK(platform.size_classes[0].bandwidth_factor == 1);
  CHECK(platform.size_classes[1].from_bytes == 1000);
  CHECK(platform.size_classes[1].bandwidth_factor == 0.5);
  CHECK(platform.host.bytes_per_s == Approx(30e9));
  CHECK(platform.host.staged);
  CHECK(platform.host.reduces);
  REQUIRE(platform.storage);
  CHECK(platform.storage->client_bytes_per_s == Approx(1e9));
  CHECK(platform.storage->read_bytes_per_s == Approx(10.7e9));
  CHECK(platform.storage->write_bytes_per_s == Approx(6.2e9));
  CHECK(platform.storage->open_s == Approx(1e-3));
  CHECK(platform.storage->parallel_opens == 16);
  CHECK(platform.noise.seed == 7);
  CHECK(platform.noise.rank_sigma == 0.02);
  CHECK(platform.noise.step_sigma == 0.03);
  REQUIRE(platform.failures);
  CHECK(platform.failures->mtbf_s == 30 * 86400);
  CHECK(platform.failures->repair_s == 7200);
  CHECK(platform.failures->restart_s == 90);
  CHECK(platform.failures->rejoin_s == 20);
  CHECK(platform.failures->rejoin_every_s == 600);
  CHECK(platform.failures->save_s == 3);
  CHECK(platform.failures->loses_work);
  CHECK(platform.failures->save_every_s == 900);
  CHECK(platform.failures->seed == 8);
  REQUIRE(platform.faults.size() == 2);
  CHECK(platform.faults[0].at_s == 2);
  CHECK(platform.faults[0].kind == Platform::Fault::Kind::worker);
  CHECK(platform.faults[0].id == 23);
  CHECK(platform.faults[0].factor == 0.25);
  CHECK(platform.faults[0].duration_s == 5);
  CHECK(platform.faults[1].kind == Platform::Fault::Kind::nic);
  CHECK(std::isinf(platform.faults[1].duration_s));
}

TEST_CASE("what a platform file leaves out is ideal", "[sim]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("least.toml"), least);
  const Platform platform = read_platform(folder.file("least.toml"));
  CHECK(platform.leaves() == 1);
  CHECK(platform.message.send_overhead_s == 0);
  CHECK(platform.message.copy_bytes_per_s == 0);
  CHECK_FALSE(platform.message.handshake);
  CHECK(platform.size_classes.empty());
  CHECK_FALSE(platform.self);
  CHECK_FALSE(platform.host.staged);
  CHECK_FALSE(platform.storage);
  CHECK(platform.noise.rank_sigma == 0);
  CHECK(platform.faults.empty());
}

TEST_CASE("the K40m platform holds the 64 devices of the paper", "[sim]") {
  const Platform platform = read_platform(PARAGRAD_SOURCE "/sim/platforms/k40m-fdr.toml");
  CHECK(platform.name == "k40m-fdr");
  CHECK(platform.workers() == 64);
  CHECK(platform.leaf.bytes_per_s == Approx(4.2e9));
}

TEST_CASE("what is wrong in a platform file is named by file and key", "[sim]") {
  const auto [line, replacement, key] = GENERATE(table<std::string, std::string, std::string>({
      {"nodes = 6", "", "cluster.nodes"},
      {"nodes = 6", "nodes = 0", "cluster.nodes"},
      {"nodes = 6", "nodes = -1", "cluster.nodes"},
      {"nodes = 6", "nodes = 2.5", "cluster.nodes"},
      {"nodes = 6", "nodes = 6.0", "cluster.nodes"},
      {"nodes = 6", "nodes = \"3\"", "cluster.nodes"},
      {"nodes = 6", "nodes = 99999999999999", "cluster.nodes"},
      {"nodes = 6", "nodes = = 3", "line 2"},
      {"devices_per_node = 4", "devices_per_node = 9000000", "cluster"},  // 54 million devices in all
      {"sockets_per_node = 2", "sockets_per_node = 0", "cluster.sockets_per_node"},
      {"sockets_per_node = 2", "sockets_per_node = 5", "cluster.sockets_per_node"},
      {"nodes_per_leaf = 3", "nodes_per_leaf = 0", "cluster.nodes_per_leaf"},
      {"nodes_per_leaf = 3", "nodes_per_leaf = \"all\"", "cluster.nodes_per_leaf"},
      {"taper = 1.5", "taper = 0", "cluster.taper"},
      {"taper = 1.5", "taper = -2", "cluster.taper"},
      {"taper = 1.5", "taper = nan", "cluster.taper"},
      {"taper = 1.5", "taper = inf", "cluster.taper"},
      {"taper = 1.5", "taper = \"2:1\"", "cluster.taper"},
      {"spine_bandwidth = \"20GBps\"", "spine_bandwidth = \"0GBps\"", "cluster.spine_bandwidth"},
      {"spine_bandwidth = \"20GBps\"", "spine_bandwidth = 20", "cluster.spine_bandwidth"},
      {"peak = \"4.29TFLOPs\"", "", "device.peak"},
      {"peak = \"4.29TFLOPs\"", "peak = \"0TFLOPs\"", "device.peak"},
      {"peak = \"4.29TFLOPs\"", "peak = \"4.29GBps\"", "device.peak"},
      {"memory_bandwidth = \"288GBps\"", "", "device.memory_bandwidth"},
      {"memory_bandwidth = \"288GBps\"", "memory_bandwidth = \"-1GBps\"", "device.memory_bandwidth"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = 1.01", "device.gemm_efficiency"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = 0", "device.gemm_efficiency"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = nan", "device.gemm_efficiency"},
      {"gemm_efficiency = 0.6", "gemm_eficciency = 0.6", "is 'gemm_eficciency' in this table meant to be it?"},
      {"nics_per_node = 2", "nic_per_node = 2", "leaf.nic_per_node: is not a known key; did you mean nics_per_node?"},
      {"memory_efficiency = 1", "memory_efficiency = 2", "device.memory_efficiency"},
      {"launch = \"8us\"", "launch = \"-8us\"", "device.launch"},
      {"latency = \"1us\"", "latency = \"0us\"", "self.latency"},
      {"bandwidth = \"100GBps\"", "", "self.bandwidth"},
      {"latency = \"10us\"", "", "peer.latency"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"0GBps\"", "peer.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"infGBps\"", "peer.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"1e305GBps\"", "peer.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"1e-9Bps\"", "peer.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"6.15GBps\"\ntaper = 2", "peer.taper"},
      {"latency = \"11us\"", "latency = \"-11us\"", "node.latency"},
      {"bandwidth = \"5GBps\"", "bandwidth = \"5GB\"", "node.bandwidth"},
      {"shared_bandwidth = \"5.5GBps\"", "shared_bandwidth = \"0GBps\"", "node.shared_bandwidth"},
      {"latency = \"9.3us\"", "latency = \"-9.3us\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"0us\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"1e-6ps\"", "leaf.latency"},  // less than a tick of the clock
      {"latency = \"9.3us\"", "latency = \"1e300d\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"nanus\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = 9.3e-6", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"9.3\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"9.3GBps\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = \"\"", "leaf.latency"},
      {"latency = \"9.3us\"", "latency = [\"9.3us\"]", "leaf.latency"},
      {"latency = \"9.3us\"", "latncy = \"9.3us\"", "leaf.lat"},
      {"bandwidth = \"33.6Gbps\"", "bandwidth = \"0Gbps\"", "leaf.bandwidth"},
      {"nics_per_node = 2", "nics_per_node = 0", "leaf.nics_per_node"},
      {"nics_per_node = 2", "nics_per_node = 5", "leaf.nics_per_node"},
      {"latency = \"9.8us\"", "", "core.latency"},
      {"latency = \"9.8us\"", "latency = \"-1us\"", "core.latency"},
      {"send_overhead = \"0.1us\"", "send_overhead = \"-1us\"", "message.send_overhead"},
      {"receive_overhead = \"0.2us\"", "receive_overhead = 2", "message.receive_overhead"},
      {"gap = \"0.3us\"", "gap = \"-1ns\"", "message.gap"},
      {"eager = \"64kB\"", "eager = \"-1B\"", "message.eager"},
      {"eager = \"64kB\"", "eager = \"1e300TB\"", "message.eager"},
      {"eager = \"64kB\"", "", "message.eager"},
      {"handshake = true", "handshake = 1", "message.handshake"},
      {"copy_bandwidth = \"7GBps\"", "copy_bandwidth = \"0GBps\"", "message.copy_bandwidth"},
      {"segment = \"2MB\"", "segment = \"0B\"", "message.segment"},
      {"window = 3", "window = 0", "message.window"},
      {"from = \"1kB\"", "from = \"0B\"", "size_class[1].from"},
      {"from = \"1kB\"", "", "size_class[1].from"},
      {"latency_factor = 1.5", "latency_factor = 0", "size_class[0].latency_factor"},
      {"bandwidth_factor = 0.5", "bandwidth_factor = -1", "size_class[1].bandwidth_factor"},
      {"memory_bandwidth = \"30GBps\"", "", "host.memory_bandwidth"},
      {"staged = true", "staged = \"yes\"", "host.staged"},
      {"reduces = true", "reduces = 1", "host.reduces"},
      {"client_bandwidth = \"1GBps\"", "", "storage.client_bandwidth"},
      {"read_bandwidth = \"10.7GBps\"", "read_bandwidth = \"0GBps\"", "storage.read_bandwidth"},
      {"write_bandwidth = \"6.2GBps\"", "write_bandwidth = \"6.2GB\"", "storage.write_bandwidth"},
      {"open = \"1ms\"", "open = \"-1ms\"", "storage.open"},
      {"parallel_opens = 16", "parallel_opens = 0", "storage.parallel_opens"},
      {"seed = 7", "seed = -7", "noise.seed"},
      {"seed = 7", "seed = 7.5", "noise.seed"},
      {"rank_sigma = 0.02", "rank_sigma = -0.02", "noise.rank_sigma"},
      {"step_sigma = 0.03", "step_sigma = nan", "noise.step_sigma"},
      {"mtbf = \"30d\"", "mtbf = \"0s\"", "failures.mtbf"},
      {"repair = \"2h\"", "", "failures.repair"},
      {"restart = \"90s\"", "restart = 90", "failures.restart"},
      {"rejoin = \"20s\"", "rejoin = \"20m\"", "failures.rejoin"},
      {"save_every = \"15min\"", "save_every = \"often\"", "failures.save_every"},
      {"save_every = \"15min\"", "save_evry = \"auto\"", "failures.save_evry"},
      {"save = \"3s\"\nsave_every = \"15min\"", "save_every = \"auto\"", "failures.save_every"},
      {"at = \"2s\"", "at = \"-2s\"", "fault[0].at"},
      {"kind = \"worker\"", "kind = \"gremlin\"", "fault[0].kind"},
      {"kind = \"worker\"", "kind = 3", "fault[0].kind"},
      {"id = 23", "id = 24", "fault[0].id"},
      {"id = 11", "id = 12", "fault[1].id"},
      {"factor = 0.25", "factor = 1.5", "fault[0].factor"},
      {"factor = 0", "factor = -1", "fault[1].factor"},
      {"duration = \"5s\"", "duration = \"0s\"", "fault[0].duration"},
      {"[message]", "[mesage]", "[message]"},
      {"[peer]", "[peeer]", "[peer]"},
      {"[leaf]", "[leef]", "[leaf]"},
      {"[node]", "[mode]", "[node]"},
      {"[core]", "[corr]", "[core]"},
      {"[message]", "[spine]\n[message]", "[spine]"},
      {"[cluster]", "top = 1\n[cluster]", "[top]"},
      {"[cluster]", "noise = 1\n[cluster]", "noise"},
  }));
  CAPTURE(replacement);
  CHECK_THAT(complaint(with(line, replacement)), contains_text(key));
}

TEST_CASE("a missing platform file, a folder and an empty file are refused by name", "[sim]") {
  CHECK_THROWS_AS(read_platform("/nowhere/at/all.toml"), core::ConfigError);
  CHECK_THROWS_WITH(read_platform("/nowhere/at/all.toml"), contains_text("/nowhere/at/all.toml"));
  CHECK_THROWS_AS(read_platform("/"), core::ConfigError);
  CHECK_THAT(complaint(""), contains_text("[cluster]"));
  CHECK_THAT(complaint("device = 3"), contains_text("[cluster]"));
}

TEST_CASE("a fault of something that the platform does not have is refused", "[sim]") {
  const auto fault = [](const std::string& kind) {
    return least + "[[fault]]\nat = \"1s\"\nid = 0\nfactor = 0\nkind = \"" + kind + "\"\n";
  };
  CHECK(complaint(fault("worker")) == "");
  CHECK(complaint(fault("device_link")) == "");
  CHECK_THAT(complaint(fault("nic")), contains_text("fault[0].kind"));
  CHECK_THAT(complaint(fault("uplink")), contains_text("fault[0].kind"));
  CHECK_THAT(complaint("fault = 3\n" + least), contains_text("[fault]"));
}

TEST_CASE("every platform that comes with the program is sound", "[sim]") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PARAGRAD_SOURCE "/sim/platforms")) {
    const Platform platform = read_platform(entry.path().string());
    CHECK(platform.name == entry.path().stem().string());
    CHECK(read_platform(platform.name).sha256 == platform.sha256);  // built in under this name
    ++files;
  }
  CHECK(files == builtin_platforms().size());
}

TEST_CASE("a file goes before a built-in platform of its name, and an unknown name lists what is built in", "[sim]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  test::write_text("k40m-fdr", least);
  CHECK(read_platform("k40m-fdr").nodes == 1);
  std::filesystem::current_path(here);
  CHECK(read_platform("k40m-fdr").nodes == 16);
  CHECK_THROWS_WITH(read_platform("k40m"), contains_text("built in: a100-hdr-nvlink, ethernet-10g, ethernet-1g,"));
}

TEST_CASE("an eager threshold of nothing is allowed", "[sim]") {
  CHECK(complaint(with("eager = \"64kB\"", "eager = \"0B\"")) == "");
}

TEST_CASE("a platform file that nests deeply is refused", "[sim]") {
  const test::TemporaryFolder folder;
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a.";
  test::write_text(folder.file("p.toml"), std::string(platform_with_every_key) + "[" + deep + "a]\n");
  CHECK_THROWS_WITH(read_platform(folder.file("p.toml")), contains_text("nest too deeply"));
}
