#include "sim/platform.hpp"

#include "catch.hpp"
#include "core/errors.hpp"
#include "sim/simulation.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;

namespace {

const std::string good = R"([cluster]
nodes = 3
devices_per_node = 2
[device]
peak = "4.29TFLOPs"
memory_bandwidth = "288GBps"
gemm_efficiency = 0.6
memory_efficiency = 1
launch = "8us"
[node]
latency = "10us"
bandwidth = "6.15GBps"
[network]
latency = "9.3us"
bandwidth = "33.6Gbps"
[message]
eager = "64kB"
)";

// `good` with one line replaced (or, by an empty text, removed).
std::string with(const std::string& line, const std::string& replacement) {
  std::string text = good;
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
  test::write_text(folder.file("my-cluster.toml"), good);
  const Platform platform = read_platform(folder.file("my-cluster.toml"));
  CHECK(platform.name == "my-cluster");
  CHECK(platform.workers() == 6);
  CHECK(platform.device.flops_per_s == Approx(4.29e12));
  CHECK(platform.device.memory_efficiency == 1);
  CHECK(platform.device.launch_s == Approx(8e-6));
  CHECK(platform.node.bytes_per_s == Approx(6.15e9));
  CHECK(platform.network.latency_s == Approx(9.3e-6));
  CHECK(platform.network.bytes_per_s == Approx(4.2e9));
  CHECK(platform.eager_bytes == 64000);
}

TEST_CASE("the K40m platform holds the 64 devices of the paper", "[sim]") {
  const Platform platform = read_platform(PARAGRAD_SOURCE "/sim/platforms/k40m-fdr.toml");
  CHECK(platform.name == "k40m-fdr");
  CHECK(platform.workers() == 64);
  CHECK(platform.network.bytes_per_s == Approx(4.2e9));
}

TEST_CASE("what is wrong in a platform file is named by file and key", "[sim]") {
  const auto [line, replacement, key] = GENERATE(table<std::string, std::string, std::string>({
      {"nodes = 3", "", "cluster.nodes"},
      {"nodes = 3", "nodes = 0", "cluster.nodes"},
      {"nodes = 3", "nodes = -1", "cluster.nodes"},
      {"nodes = 3", "nodes = 2.5", "cluster.nodes"},
      {"nodes = 3", "nodes = \"3\"", "cluster.nodes"},
      {"nodes = 3", "nodes = 99999999999999", "cluster.nodes"},
      {"devices_per_node = 2", "devices_per_node = 9000000", "cluster"},  // 27 million devices in all
      {"peak = \"4.29TFLOPs\"", "", "device.peak"},
      {"peak = \"4.29TFLOPs\"", "peak = \"0TFLOPs\"", "device.peak"},
      {"peak = \"4.29TFLOPs\"", "peak = \"4.29GBps\"", "device.peak"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = 1.01", "device.gemm_efficiency"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = 0", "device.gemm_efficiency"},
      {"gemm_efficiency = 0.6", "gemm_efficiency = nan", "device.gemm_efficiency"},
      {"launch = \"8us\"", "launch = \"-8us\"", "device.launch"},
      {"latency = \"9.3us\"", "latency = \"-9.3us\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"0us\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"1e-6ps\"", "network.latency"},  // less than a tick of the clock
      {"latency = \"9.3us\"", "latency = \"1e300d\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"nanus\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = 9.3e-6", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"9.3\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"9.3GBps\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = \"\"", "network.latency"},
      {"latency = \"9.3us\"", "latency = [\"9.3us\"]", "network.latency"},
      {"latency = \"9.3us\"", "latncy = \"9.3us\"", "network.lat"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"0GBps\"", "node.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"infGBps\"", "node.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"1e305GBps\"", "node.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"1e-9Bps\"", "node.bandwidth"},
      {"bandwidth = \"6.15GBps\"", "bandwidth = \"6.15GBps\"\ntaper = 2", "node.taper"},
      {"eager = \"64kB\"", "eager = \"-1B\"", "message.eager"},
      {"eager = \"64kB\"", "eager = \"1e300TB\"", "message.eager"},
      {"eager = \"64kB\"", "", "message.eager"},
      {"[message]", "[mesage]", "[message]"},
      {"[node]", "[nodee]", "[node]"},
      {"[message]", "[spine]\n[message]", "[spine]"},
      {"[cluster]", "top = 1\n[cluster]", "[top]"},
      {"nodes = 3", "nodes = = 3", "line 2"},
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

TEST_CASE("an eager threshold of nothing is allowed", "[sim]") {
  CHECK(complaint(with("eager = \"64kB\"", "eager = \"0B\"")) == "");
}
