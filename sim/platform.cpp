#include "sim/platform.hpp"

#include <toml++/toml.h>

#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

namespace paragrad::sim {
namespace {

/// Reads keys of one table, says where a bad one stands, and finds keys that nobody asked for.
class Section {
 public:
  Section(const toml::table& root, std::string file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
    table_ = root[name_].as_table();
    if (table_ == nullptr) throw core::ConfigError(core::format("platform file '{}' lacks the section [{}]", file_, name_));
  }

  /// A quantity in SI units; must be positive, or at least zero.
  double quantity(const std::string& key, core::Unit unit, bool may_be_zero = false) {
    const auto text = value(key).value<std::string>();
    if (!text) fail(key, "write it in quotes and with its unit");
    double number = 0;
    try {
      number = core::parse_quantity(*text, unit);
    } catch (const core::ConfigError& error) {
      fail(key, error.what());
    }
    if (number < 0 || (number == 0 && !may_be_zero)) fail(key, core::format("'{}' must be above zero", *text));
    return number;
  }

  double fraction(const std::string& key) {
    const auto number = value(key).value<double>();
    if (!number || !(*number > 0) || *number > 1) fail(key, "must be a number above 0 and at most 1");
    return *number;
  }

  int count(const std::string& key) {
    const auto number = value(key).value<std::int64_t>();
    if (!number || *number < 1 || *number > 10'000'000) fail(key, "must be a whole number of at least 1");
    return static_cast<int>(*number);
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

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw core::ConfigError(core::format("platform file '{}', key {}.{}: {}", file_, name_, key, problem));
  }

  std::string file_;
  std::string name_;
  const toml::table* table_;
  std::set<std::string> asked_;
};

Link read_link(const toml::table& root, const std::string& path, const std::string& name) {
  Section section(root, path, name);
  const Link link{section.quantity("latency", core::Unit::time), section.quantity("bandwidth", core::Unit::bandwidth)};
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

  Section device(root, path, "device");
  platform.device.flops_per_s = device.quantity("peak", core::Unit::rate);
  platform.device.bytes_per_s = device.quantity("memory_bandwidth", core::Unit::bandwidth);
  platform.device.gemm_efficiency = device.fraction("gemm_efficiency");
  platform.device.memory_efficiency = device.fraction("memory_efficiency");
  platform.device.launch_s = device.quantity("launch", core::Unit::time, true);
  device.done();

  platform.node = read_link(root, path, "node");
  platform.network = read_link(root, path, "network");

  Section message(root, path, "message");
  platform.eager_bytes = static_cast<std::int64_t>(message.quantity("eager", core::Unit::bytes, true));
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
