#include <cmath>

#include "app/commands.hpp"
#include "cli/described_options.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "sim/builtin_platforms.hpp"
#include "sim/platform.hpp"

namespace paragrad::app {
namespace {

using core::Unit;

std::string say(double value, Unit unit) { return core::format_quantity(value, unit); }
std::string say_limit(double value) { return value == 0 ? "no limit" : say(value, Unit::bandwidth); }
std::string say(const sim::Link& link) {
  return core::format("{} + {}", say(link.latency_s, Unit::time), say(link.bytes_per_s, Unit::bandwidth));
}

void print(const char* what, const std::string& text) { fmt::print("{:<9} {}\n", what, text); }

void print_cluster(const sim::Platform& platform) {
  fmt::print("{}: {} nodes of {} devices, {} workers at most\n", core::printable(platform.name), platform.nodes,
             platform.devices_per_node, platform.workers());
  if (platform.sockets_per_node > 1) print("", core::format("{} sockets in a node", platform.sockets_per_node));
  if (platform.leaves() > 1)
    print("", core::format("{} leaf switches of {} nodes, uplinks for {} of the nodes' bandwidth{}", platform.leaves(),
                           platform.nodes_per_leaf, platform.taper == 1 ? "all" : core::format("1/{}", platform.taper),
                           platform.spine_bytes_per_s == 0
                               ? ""
                               : core::format(", spine for {}", say(platform.spine_bytes_per_s, Unit::bandwidth))));
}

void print_levels(const sim::Platform& platform) {
  if (platform.self) print("self", core::format("{} between workers that share a device", say(*platform.self)));
  print("peer", core::format("{} between the devices of a {}", say(platform.peer),
                             platform.sockets_per_node > 1 ? "socket" : "node"));
  if (platform.sockets_per_node > 1)
    print("node", core::format("{} between sockets, shared: {} per direction", say(platform.node),
                               say_limit(platform.node.shared_bytes_per_s)));
  if (platform.nodes > 1)
    print("leaf",
          core::format("{} between nodes, {} per node", say(platform.leaf),
                       platform.leaf.nics_per_node == 1 ? "one NIC" : core::format("{} NICs", platform.leaf.nics_per_node)));
  if (platform.leaves() > 1) print("core", say(platform.core_latency_s, Unit::time) + " between leaf switches");
}

void print_message(const sim::Platform& platform) {
  const sim::Platform::Message& message = platform.message;
  print("message",
        core::format("eager up to {}{}; then rendezvous{}", say(static_cast<double>(message.eager_bytes), Unit::bytes),
                     message.copy_bytes_per_s == 0 ? "" : ", copied at " + say(message.copy_bytes_per_s, Unit::bandwidth),
                     message.handshake ? " with a handshake" : ""));
  if (message.send_overhead_s + message.receive_overhead_s + message.gap_s > 0)
    print("", core::format("overhead {} to send, {} to receive; gap {}", say(message.send_overhead_s, Unit::time),
                           say(message.receive_overhead_s, Unit::time), say(message.gap_s, Unit::time)));
  print("", core::format("network 'segmented': segments of {}, {} in flight",
                         say(static_cast<double>(message.segment_bytes), Unit::bytes), message.window));
  for (const auto& part : platform.size_classes)
    print("", core::format("from {}: latency x {}, bandwidth x {}", say(static_cast<double>(part.from_bytes), Unit::bytes),
                           part.latency_factor, part.bandwidth_factor));
}

void print_failures(const sim::Platform::Failures& failures) {
  const auto time = [](double seconds) { return say(seconds, Unit::time); };
  print("failures",
        core::format("{}; {} to restart without its node, {} to repair it",
                     std::isinf(failures.mtbf_s) ? "only those below"
                                                 : core::format("of a device every {} on average", time(failures.mtbf_s)),
                     time(failures.restart_s), time(failures.repair_s)));
  print("", core::format("{} to take nodes back, {} at least in between; {} to save the state{}", time(failures.rejoin_s),
                         time(failures.rejoin_every_s), time(failures.save_s),
                         !failures.loses_work         ? ""
                         : failures.save_every_s == 0 ? ", as often as Daly's estimate says"
                                                      : ", every " + time(failures.save_every_s)));
}

void print_measured(const char* what, const comm::NcclFacts::Measured& measured) {
  if (measured.latency_factor == 1 && measured.bandwidth_factor == 1 && measured.sharpness == 0) return;
  print(what,
        core::format("NCCL's latency x {:.3g}, its bandwidth x {:.3g}{}", measured.latency_factor, measured.bandwidth_factor,
                     measured.sharpness == 0 ? "" : core::format(", sharpness {:.3g}", measured.sharpness)));
}

void print_options(const sim::Platform& platform) {
  if (const auto& nccl = platform.nccl)
    print("nccl", core::format("{} channels over {}{}; {} more between nodes, constants for {} processors", nccl->channels,
                               nccl->nvlink ? "NVLink" : "PCI Express", nccl->adds_in_switch ? ", whose switches add" : "",
                               say(nccl->network_latency_s, Unit::time), nccl->amd ? "AMD's" : "Intel's"));
  if (const auto& nccl = platform.nccl) {
    print_measured("measured", nccl->inside);
    print_measured("network", nccl->between);
  }
  const auto& program = platform.program;
  if (program.step_cost_s > 0 || program.overlap < 1 || program.crowding > 0)
    print("program", core::format("{} per step at the host, {:.0f} % of the exchange beside computing for nothing, {:.1f} % "
                                  "slower for each doubling of a node's workers",
                                  say(program.step_cost_s, Unit::time), 100 * program.overlap, 100 * program.crowding));
  for (const auto& rate : platform.rates)
    print("rate", core::format("{:.5g} samples/s of {}{}{} on one device", rate.samples_per_s, core::printable(rate.model),
                               rate.series.empty() ? "" : " ", core::printable(rate.series)));
  if (const auto& fit = platform.fit)
    print("fit",
          core::format("{} values to {} measurements, which reach across: {}", fit->names.size(), fit->rows, fit->reach));
  if (!platform.spreads.empty()) print("", core::format("{} values say how sure they are (±)", platform.spreads.size()));
  if (const auto& host = platform.host; host.bytes_per_s > 0)
    print("host", core::format("{} memory{}{}", say(host.bytes_per_s, Unit::bandwidth),
                               host.staged ? ", which stages messages" : "", host.reduces ? ", which holds the sums" : ""));
  if (const auto& storage = platform.storage)
    print("storage",
          core::format("{} per node; {} read, {} write in all; {} per open, {} at a time",
                       say(storage->client_bytes_per_s, Unit::bandwidth), say(storage->read_bytes_per_s, Unit::bandwidth),
                       say(storage->write_bytes_per_s, Unit::bandwidth), say(storage->open_s, Unit::time),
                       storage->parallel_opens));
  if (const auto& noise = platform.noise; noise.rank_sigma > 0 || noise.step_sigma > 0)
    print("noise",
          core::format("sigma {} per worker, {} per computation; seed {}", noise.rank_sigma, noise.step_sigma, noise.seed));
  if (const auto& failures = platform.failures) print_failures(*failures);
  for (const auto& fault : platform.faults)
    print("fault", core::format("{} {} {} at {}, {}", sim::name_of(fault.kind), fault.id,
                                fault.factor == 0 ? "stops" : core::format("slows to {} of its speed", fault.factor),
                                say(fault.at_s, Unit::time),
                                std::isinf(fault.duration_s) ? "for good" : "for " + say(fault.duration_s, Unit::time)));
}

void describe(const std::string& path) {
  const sim::Platform platform = sim::read_platform(path);
  const sim::Platform::Device& device = platform.device;
  print_cluster(platform);
  print("device", core::format("{} peak, {:.0f} % in matrix products; {} memory, {:.0f} % when streaming; {} per kernel",
                               say(device.flops_per_s, Unit::rate), 100 * device.gemm_efficiency,
                               say(device.bytes_per_s, Unit::bandwidth), 100 * device.memory_efficiency,
                               say(device.launch_s, Unit::time)));
  if (device.memory_bytes > 0) print("", core::format("{} of memory", say(device.memory_bytes, Unit::bytes)));
  if (device.price_per_hour > 0) print("", core::format("{:.4g} per hour", device.price_per_hour));
  if (!device.kernels.empty()) print("", core::format("measured times of {} kernels, by size", device.kernels.size()));
  print_levels(platform);
  print_message(platform);
  print_options(platform);
}

struct PlatformArguments {
  std::string file;

  void describe(core::OptionList& list) {
    list.argument("file", file, "platform file or built-in platform; without it, list these").path();
  }
};

void list_builtin() {
  for (const std::string& name : sim::platform_catalogue().names()) {
    const sim::Platform platform = sim::read_platform(name);
    fmt::print("{:<18} {} nodes of {} devices\n", name, platform.nodes, platform.devices_per_node);
  }
}

}  // namespace

cli::Command platform_command() {
  return cli::command_of<PlatformArguments>(
      {.name = "platform",
       .description = "Check a platform file and print what it describes, or list the built-in platforms.",
       .examples = "paragrad platform\n"
                   "paragrad platform k40m-fdr\n"
                   "paragrad platform sim/platforms/ethernet-10g.toml"},
      [](PlatformArguments& arguments, const CLI::App&) {
        arguments.file.empty() ? list_builtin() : describe(arguments.file);
        return cli::success;
      });
}

}  // namespace paragrad::app
