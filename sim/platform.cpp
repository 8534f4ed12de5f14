#include "sim/platform.hpp"

#include <toml++/toml.h>

#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::sim {
namespace {

constexpr std::int64_t most_devices = 10'000'000;

// No message may arrive in the instant in which it was sent: the order within an instant would then depend on hops.
constexpr double shortest_latency_s = 1e-9;

/// Reads keys of one table, says where a bad one stands, and finds keys that nobody asked for.
class Section {
 public:
  Section(const toml::table& root, std::string file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
    table_ = root[name_].as_table();
    if (table_ == nullptr) throw core::ConfigError(core::format("platform file '{}' lacks the section [{}]", file_, name_));
  }

  /// A quantity in SI units within bounds that the simulator's clock (64-bit picoseconds) can work with.
  double quantity(const std::string& key, core::Unit unit, double least, double most) {
    const auto text = value(key).value<std::string>();
    if (!text) fail(key, "write it in quotes and with its unit");
    double number = 0;
    try {
      number = core::parse_quantity(*text, unit);
    } catch (const core::ConfigError& error) {
      fail(key, error.what());
    }
    if (number < least || number > most)
      fail(key, core::format("'{}' is outside {} … {}", *text, core::format_quantity(least, unit),
                             core::format_quantity(most, unit)));
    return number;
  }

  double time(const std::string& key, double least) { return quantity(key, core::Unit::time, least, 1000); }
  double bandwidth(const std::string& key) { return quantity(key, core::Unit::bandwidth, 1e3, 1e18); }
  double rate(const std::string& key) { return quantity(key, core::Unit::rate, 1e6, 1e21); }

  double fraction(const std::string& key) {
    const auto number = value(key).value<double>();
    if (!number || !(*number > 0) || *number > 1) fail(key, "must be a number above 0 and at most 1");
    return *number;
  }

  int count(const std::string& key) {
    const auto number = value(key).value<std::int64_t>();
    if (!number || *number < 1 || *number > most_devices)
      fail(key, core::format("must be a whole number from 1 to {}", most_devices));
    return static_cast<int>(*number);
  }

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw core::ConfigError(core::format("platform file '{}', key {}.{}: {}", file_, name_, key, problem));
  }

  void done() const {
    for (const auto& [key, node] : *table_)
      if (!asked_.contains(std::string(key.str()))) fail(std::string(key.str()), "is not a known key");
  }

 private:
  toml::node_view<const toml::node> value(const std::string& key) {
    asked_.insert(key);
    const auto found = (*table_)[key];
    if (!found) fail(key, "is missing");
    return found;
  }

  std::string file_;
  std::string name_;
  const toml::table* table_;
  std::set<std::string> asked_;
};

Link read_link(const toml::table& root, const std::string& path, const std::string& name) {
  Section section(root, path, name);
  const Link link{section.time("latency", shortest_latency_s), section.bandwidth("bandwidth")};
  section.done();
  return link;
}

Platform parse(const toml::table& root, const std::string& path) {
  Platform platform;
  platform.name = path.substr(path.find_last_of('/') + 1);
  platform.name = platform.name.substr(0, platform.name.find_last_of('.'));

  Section cluster(root, path, "cluster");
  platform.nodes = cluster.count("nodes");
  platform.devices_per_node = cluster.count("devices_per_node");
  cluster.done();
  if (std::int64_t{platform.nodes} * platform.devices_per_node > most_devices)
    cluster.fail("nodes", core::format("{} nodes of {} devices are more than {} devices", platform.nodes,
                                       platform.devices_per_node, most_devices));

  Section device(root, path, "device");
  platform.device.flops_per_s = device.rate("peak");
  platform.device.bytes_per_s = device.bandwidth("memory_bandwidth");
  platform.device.gemm_efficiency = device.fraction("gemm_efficiency");
  platform.device.memory_efficiency = device.fraction("memory_efficiency");
  platform.device.launch_s = device.time("launch", 0);
  device.done();

  platform.node = read_link(root, path, "node");
  platform.network = read_link(root, path, "network");

  Section message(root, path, "message");
  platform.eager_bytes = static_cast<std::int64_t>(message.quantity("eager", core::Unit::bytes, 0, 1e18));
  message.done();

  for (const auto& [key, node] : root)
    if (const auto name = key.str();
        name != "cluster" && name != "device" && name != "node" && name != "network" && name != "message")
      throw core::ConfigError(core::format("platform file '{}': [{}] is not a known section", path, name));
  return platform;
}

}  // namespace

Platform read_platform(const std::string& path) {
  try {
    return parse(toml::parse_file(path), path);
  } catch (const toml::parse_error& error) {
    const int line = static_cast<int>(error.source().begin.line);
    if (line == 0) throw core::ConfigError(core::format("cannot read the platform file '{}'", path));
    throw core::ConfigError(core::format("platform file '{}', line {}: {}", path, line, error.description()));
  }
}

Platform free_platform(int workers) {
  Platform platform;
  platform.name = "free";
  platform.nodes = workers;
  platform.device = {1e18, 1e18, 1, 1, 0};
  platform.node = platform.network = {1e-9, 1e18};
  return platform;
}

}  // namespace paragrad::sim
