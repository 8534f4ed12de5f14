#include "app/command.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "sim/platform.hpp"

namespace paragrad::app {

int platform_command(std::span<char*> argv) {
  std::string path;
  const auto parser = make_parser("paragrad platform", "Checks a platform file and prints what it describes.");
  parser->add_option("file", path, "platform file")->required();
  if (const auto code = parse(*parser, argv)) return *code;

  using core::Unit;
  const sim::Platform platform = sim::read_platform(path);
  const sim::Platform::Device& device = platform.device;
  const auto say = [](double value, Unit unit) { return core::format_quantity(value, unit); };
  fmt::print("{}: {} nodes of {} devices, {} workers at most\n", platform.name, platform.nodes, platform.devices_per_node,
             platform.workers());
  fmt::print("device   {} peak, {:.0f} % in matrix products; {} memory, {:.0f} % when streaming; {} per kernel\n",
             say(device.flops_per_s, Unit::rate), 100 * device.gemm_efficiency, say(device.bytes_per_s, Unit::bandwidth),
             100 * device.memory_efficiency, say(device.launch_s, Unit::time));
  for (const auto& [name, link] : {std::pair("node", platform.node), std::pair("network", platform.network)})
    fmt::print("{:<8} {} + {}\n", name, say(link.latency_s, Unit::time), say(link.bytes_per_s, Unit::bandwidth));
  fmt::print("message  eager up to {}\n", say(static_cast<double>(platform.eager_bytes), Unit::bytes));
  return success;
}

}  // namespace paragrad::app
