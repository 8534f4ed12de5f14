#include "sim/platform.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/sha256.hpp"
#include "core/toml.hpp"
#include "sim/builtin_platforms.hpp"
#include "sim/fitting/parameters.hpp"
#include "sim/platform_readers.hpp"
#include "sim/platform_section.hpp"
#include "system/files.hpp"

namespace paragrad::sim {
namespace {

constexpr std::uintmax_t longest_file = 1'000'000;  // bytes

/// The sections of a file; finds unknown ones.
class File {
 public:
  File(const std::string& path, std::string_view text, const PlatformChanges& changes,
       std::map<std::string, double>& spreads)
      : path_(path), spreads_(spreads), root_(core::parse_toml(core::format("platform file '{}'", path), text)) {
    apply(changes, root_, path);
  }

  Section required(const std::string& name) {
    if (auto section = optional(name)) return *section;
    throw core::ConfigError(core::format("platform file '{}' lacks the section [{}]", path_, name));
  }

  std::optional<Section> optional(const std::string& name) {
    asked_.insert(name);
    const toml::table* table = root_[name].as_table();
    if (table == nullptr && root_.contains(name)) fail(name, "must be a section");
    return table == nullptr ? std::nullopt : std::optional<Section>(std::in_place, *table, path_, name, spreads_);
  }

  /// The sections [[name]].
  std::vector<Section> list(const std::string& name) {
    asked_.insert(name);
    std::vector<Section> sections;
    if (!root_.contains(name)) return sections;
    const toml::array* tables = root_[name].as_array();
    if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) fail(name, "write it in double brackets");
    for (std::size_t i = 0; i < tables->size(); ++i)
      sections.emplace_back(*(*tables)[i].as_table(), path_, core::format("{}[{}]", name, i), spreads_);
    return sections;
  }

  void done() const {
    for (const auto& [key, node] : root_)
      if (!asked_.contains(std::string(key.str()))) fail(std::string(key.str()), "is not a known section");
  }

 private:
  [[noreturn]] void fail(const std::string& name, const char* problem) const {
    throw core::ConfigError(core::format("platform file '{}': [{}] {}", path_, name, problem));
  }

  std::string path_;
  std::map<std::string, double>& spreads_;
  toml::table root_;
  std::set<std::string> asked_;
};

void read_levels(File& file, Platform& platform) {
  if (auto self = file.optional("self")) {
    platform.self = read_link(*self);
    self->done();
  }
  Section peer = file.required("peer");
  platform.peer = read_link(peer);
  peer.done();
  if (auto node = platform.sockets_per_node > 1 ? file.required("node") : file.optional("node")) {
    static_cast<Link&>(platform.node) = read_link(*node);
    platform.node.shared_bytes_per_s = node->bandwidth("shared_bandwidth", 0);
    node->done();
  }
  if (auto leaf = platform.nodes > 1 ? file.required("leaf") : file.optional("leaf")) {
    static_cast<Link&>(platform.leaf) = read_link(*leaf);
    platform.leaf.nics_per_node = count(*leaf, "nics_per_node", 1);
    leaf->done();
    if (platform.leaf.nics_per_node > platform.devices_per_node)
      leaf->fail("nics_per_node", core::format("is more than the {} devices of a node, each of which uses one NIC",
                                               platform.devices_per_node));
  }
  if (auto core = platform.leaves() > 1 ? file.required("core") : file.optional("core")) {
    platform.core_latency_s = core->time("latency", shortest_latency_s);
    core->done();
  }
}

/// What is fitted must be there.
void check_names(const Platform::Fit& fit, const Platform& platform) {
  std::set<std::string> known;
  for (std::size_t i = 0; i < platform.rates.size(); ++i) known.insert(core::format("rate[{}]", i));
  Platform copy = platform;
  for (const fitting::Parameter& parameter : fitting::parameters())
    if (parameter.in(copy) != nullptr) known.insert(parameter.name());
  for (const std::string& name : fit.names)
    if (!known.contains(name))
      throw core::ConfigError(
          core::format("platform file '{}', key fit.names: '{}' is no value of it that can be fitted", platform.file, name));
}

/// Of the comment with which a file begins.
std::string first_sentence(std::string_view text) {
  std::string comment;
  while (text.starts_with("# ")) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    comment += core::format("{}{}", comment.empty() ? "" : " ", text.substr(2, end - 2));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::size_t stop = std::min(comment.find(". "), comment.size());
  return comment.substr(0, comment.ends_with('.') ? std::min(stop, comment.size() - 1) : stop);
}

}  // namespace

std::string platform_source(const std::string& path) {
  const auto builtin = std::ranges::find(builtin_platforms(), path, &BuiltinPlatform::name);
  if (builtin != builtin_platforms().end() && !std::filesystem::exists(path)) return std::string(builtin->text);
  std::error_code missing;
  if (std::filesystem::file_size(path, missing) > longest_file && !missing)
    throw core::ConfigError(core::format("'{}' is no platform file: it is longer than a megabyte", path));
  try {
    return system::read_text(path);
  } catch (const core::ConfigError&) {
    const bool is_name = path.find_first_of("/.") == std::string::npos;
    throw core::ConfigError(
        core::format("cannot read the platform file '{}'{}", path,
                     is_name ? core::format("; built in: {}", core::join(platform_catalogue().names(), ", ")) : ""));
  }
}

Platform read_platform(const std::string& path, const PlatformChanges& changes) {
  const std::string text = platform_source(path);
  Platform platform;
  File file(path, text, changes, platform.spreads);
  platform.file = path;
  platform.sha256 = changes.empty() ? core::sha256(std::as_bytes(std::span(text))) : "";
  platform.name = path.substr(path.find_last_of('/') + 1);
  platform.name = platform.name.substr(0, platform.name.find_last_of('.'));
  if (!changes.empty()) platform.name += " " + values_of(changes);
  read_cluster(file.required("cluster"), platform);
  read_device(file.required("device"), platform.device);
  for (Section& section : file.list("kernel"))
    platform.device.kernels.push_back(read_kernel(section, platform.device.kernels));
  read_levels(file, platform);
  read_message(file.required("message"), platform.message);
  for (Section& section : file.list("size_class")) read_size_class(section, platform.size_classes);
  if (auto reduction = file.optional("reduction")) read_reduction(*reduction, platform.reduction);
  if (auto nccl = file.optional("nccl")) {
    for (const char* const key : {"sharpness", "network_sharpness"})
      if (nccl->has(key)) platform.stated.insert(core::format("nccl.{}", key));
    platform.nccl = read_nccl(*nccl);
  }
  if (auto program = file.optional("program")) read_program(*program, platform);
  for (Section& section : file.list("rate")) platform.rates.push_back(read_rate(section));
  if (auto fit = file.optional("fit")) platform.fit = read_fit(*fit);
  if (auto host = file.optional("host")) read_host(*host, platform.host);
  if (auto storage = file.optional("storage")) platform.storage = read_storage(*storage);
  if (auto noise = file.optional("noise")) read_noise(*noise, platform.noise);
  if (auto failures = file.optional("failures")) platform.failures = read_failures(*failures);
  for (Section& section : file.list("fault")) platform.faults.push_back(read_fault(section, platform));
  file.done();
  if (platform.fit) check_names(*platform.fit, platform);
  for (const auto& [name, spread] : platform.spreads)
    if (fitting::find_parameter(name) == nullptr)
      throw core::ConfigError(
          core::format("platform file '{}', key {}: only values that `paragrad fit` can determine may have a "
                       "spread (±)",
                       path, name));
  return platform;
}

const char* name_of(Platform::Fault::Kind kind) {
  using Kind = Platform::Fault::Kind;
  switch (kind) {
    case Kind::worker:
      return "worker";
    case Kind::device_link:
      return "device_link";
    case Kind::nic:
      return "nic";
    case Kind::uplink:
      return "uplink";
  }
  throw std::logic_error("a kind of fault without a name");
}

core::CatalogueInfo platform_catalogue() {
  core::CatalogueInfo catalogue{"platform", "platforms", {}};
  for (const BuiltinPlatform& platform : builtin_platforms())
    catalogue.entries.push_back({.name = std::string(platform.name), .summary = first_sentence(platform.text)});
  return catalogue;
}

Platform free_platform(int workers) {
  Platform platform;
  platform.name = "free";
  platform.nodes = workers;
  platform.device = {1e18, 1e18, 1, 1, 0};
  platform.peer = {1e-9, 1e18};
  platform.leaf = {{1e-9, 1e18}, 1};
  return platform;
}

}  // namespace paragrad::sim
