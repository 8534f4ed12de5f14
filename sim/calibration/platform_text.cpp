#include "sim/calibration/platform_text.hpp"

#include <algorithm>
#include <functional>

#include "core/format.hpp"
#include "core/join.hpp"
#include "core/units.hpp"

namespace paragrad::sim::calibration {
namespace {

using core::Unit;

std::string quoted(double value, Unit unit) { return core::format("\"{}\"", core::format_quantity(value, unit)); }

std::string list_of(const std::vector<double>& values, const std::function<std::string(double)>& say) {
  std::vector<std::string> words;
  for (const double value : values) words.push_back(say(value));
  return core::format("[{}]", core::join(words, ", "));
}

/// The times in lines as long as the last axis.
std::string times_of(const KernelTable& table) {
  std::string text = "[";
  const std::size_t row = std::max<std::size_t>(table.sizes[2].size(), std::min<std::size_t>(table.time_s.size(), 8));
  for (std::size_t i = 0; i < table.time_s.size(); ++i) {
    if (i > 0) text += i % row == 0 ? ",\n        " : ", ";
    text += quoted(table.time_s[i], Unit::time);
  }
  return text + "]";
}

std::string kernel_section(const KernelTable& table) {
  const auto whole = [](double value) { return core::format("{:.0f}", value); };
  const auto bytes = [](double value) { return core::format("\"{:.0f}B\"", value); };
  std::string text = core::format("\n[[kernel]]\nname = \"{}\"\n", table.kernel);
  if (backend::kernel_kind(*backend::find_kernel(table.kernel)) == backend::KernelKind::gemm)
    text += core::format("batch = {}\ninputs = {}\noutputs = {}\n", list_of(table.sizes[0], whole),
                         list_of(table.sizes[1], whole), list_of(table.sizes[2], whole));
  else
    text += core::format("bytes = {}\n", list_of(table.sizes[0], bytes));
  return text + core::format("time = {}\n", times_of(table));
}

std::string link_section(const std::string& name, const Link& link) {
  return core::format("\n[{}]\nlatency = {}\nbandwidth = {}\n", name, quoted(std::max(link.latency_s, 1e-9), Unit::time),
                      quoted(link.bytes_per_s, Unit::bandwidth));
}

std::string size_class_section(const Platform::SizeClass& size_class) {
  const auto factor = [](double value) { return core::format("{:.4g}", std::clamp(value, 1e-3, 1e3)); };
  return core::format("\n[[size_class]]\nfrom = \"{}B\"\nlatency_factor = {}\nbandwidth_factor = {}\n",
                      size_class.from_bytes, factor(size_class.latency_factor), factor(size_class.bandwidth_factor));
}

}  // namespace

std::string platform_text(const Platform& platform, const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) text += core::format("# {}\n", remark);
  text += core::format("\n[cluster]\nnodes = {}\ndevices_per_node = {}\n", platform.nodes, platform.devices_per_node);
  const Platform::Device& device = platform.device;
  text += core::format(
      "\n[device]  # for kernels without a table below: the best that was measured\npeak = {}\nmemory_bandwidth = {}\n"
      "gemm_efficiency = {}\nmemory_efficiency = {}\nlaunch = {}\n",
      quoted(device.flops_per_s, Unit::rate), quoted(device.bytes_per_s, Unit::bandwidth), device.gemm_efficiency,
      device.memory_efficiency, quoted(device.launch_s, Unit::time));
  text += link_section("peer", platform.peer);
  if (platform.nodes > 1) text += link_section("leaf", platform.leaf);
  text += core::format("\n[message]\neager = \"{}B\"\n", platform.message.eager_bytes);
  for (const Platform::SizeClass& size_class : platform.size_classes) text += size_class_section(size_class);
  for (const KernelTable& table : device.kernels) text += kernel_section(table);
  return text;
}

}  // namespace paragrad::sim::calibration
