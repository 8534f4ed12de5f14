#include "sim/calibration/calibration.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "sim/calibration/link_fit.hpp"
#include "sim/simulation.hpp"

namespace paragrad::sim::calibration {
namespace {

const KernelTable& table_of(const std::vector<KernelTable>& tables, backend::KernelId kernel) {
  return *std::ranges::find(tables, backend::kernel_name(kernel), &KernelTable::kernel);
}

/// The device for the roofline model, used by kernels without a table: the best measured rates.
Platform::Device device_of(std::vector<KernelTable> tables) {
  Platform::Device device;
  const KernelTable& product = table_of(tables, backend::KernelId::affine_forward);
  std::size_t point = 0;
  for (const double batch : product.sizes[0])
    for (const double in : product.sizes[1])
      for (const double out : product.sizes[2])
        device.flops_per_s = std::max(device.flops_per_s, 2 * batch * in * out / product.time_s[point++]);
  const KernelTable& stream = table_of(tables, backend::KernelId::add);
  device.bytes_per_s = stream.sizes[0].back() / stream.time_s.back();
  device.launch_s = stream.time_s.front();
  device.kernels = std::move(tables);
  return device;
}

std::vector<LinkPoint> one_way(const std::vector<MessagePoint>& points) {
  std::vector<LinkPoint> all;
  for (const MessagePoint& point : points) all.push_back({point.bytes, point.one_way_s});
  return all;
}

/// Sizes of models from 4 kB on, as far as messages were measured.
std::vector<std::size_t> allreduce_lengths(std::size_t largest_message) {
  std::vector<std::size_t> floats;
  for (std::size_t count = 1024; count * sizeof(float) <= largest_message; count *= 8) floats.push_back(count);
  return floats;
}

Level measure_level(comm::Communicator& comm, int first, int second, const CalibrationOptions& options) {
  Level level{{first, second, options.message_passes, options.burst_s}, {}};
  level.points = ping_pong(comm, message_lengths(options.largest_message), level.between);
  return level;
}

}  // namespace

Calibration calibrate(comm::Worker& worker, const CalibrationOptions& options,
                      const std::function<void(const std::string&)>& say) {
  comm::Communicator& comm = worker.comm();
  const auto tell = [&](const std::string& text) {
    if (worker.rank() == 0) say(text);
  };
  const int per_node = comm.size() == 1 ? 1 : comm.workers_per_node();
  if (per_node == 0)
    throw core::ConfigError("the ranks do not fill the nodes in order: start the same number on each, node by node");

  Calibration result;
  Platform& platform = result.platform;
  platform.devices_per_node = per_node;
  platform.nodes = (comm.size() + per_node - 1) / per_node;
  platform.device = device_of(measure_kernels(worker, options.kernels, [&](int pass, int passes) {
    tell(core::format("kernels, pass {} of {}", pass + 1, passes));
  }));
  if (comm.size() == 1) {  // no peer: a memory copy, so that the platform file is valid
    platform.peer = {std::max(1e-9, platform.device.launch_s), platform.device.bytes_per_s};
    return result;
  }

  const int other = per_node > 1 ? 1 : per_node;
  tell("messages");
  platform.message.eager_bytes = static_cast<std::int64_t>(
      options.eager_bytes ? *options.eager_bytes : eager_bytes(comm, 0, other, options.largest_message));
  if (per_node > 1) result.peer = measure_level(comm, 0, 1, options);
  if (platform.nodes > 1) result.leaf = measure_level(comm, 0, per_node, options);
  // Size classes apply to all levels: with two levels, each is a single line.
  const bool one_level = !result.peer || !result.leaf;
  const auto fit = [&](const Level& level) {
    const LinkFit found =
        fit_link(one_way(level.points), one_level ? options.tolerance : std::numeric_limits<double>::infinity());
    platform.size_classes = found.classes;
    return found.link;
  };
  if (result.peer) platform.peer = fit(*result.peer);
  if (result.leaf) static_cast<Link&>(platform.leaf) = fit(*result.leaf);
  if (!result.peer) platform.peer = platform.leaf;

  tell("allreduces");
  result.allreduce_floats = allreduce_lengths(options.largest_message);
  result.allreduce_s = allreduce_times(comm, options.collective, result.allreduce_floats,
                                       {0, other, options.message_passes, options.burst_s});
  return result;
}

Calibration simulate_measurement(const Calibration& measured, const Platform& platform, const CalibrationOptions& options) {
  Calibration result = measured;
  const auto repeat = [&](const std::optional<Level>& from, std::optional<Level>& to, comm::Communicator& comm) {
    if (!from) return;
    PingPongOptions between = from->between;
    between.passes = 1;
    std::vector<std::size_t> lengths;
    for (const MessagePoint& point : from->points) lengths.push_back(point.bytes);
    const auto points = ping_pong(comm, lengths, between);
    if (comm.rank() == 0) to->points = points;
  };
  run(platform, platform.workers(), {}, [&](comm::Worker& worker) {
    repeat(measured.peer, result.peer, worker.comm());
    repeat(measured.leaf, result.leaf, worker.comm());
    if (measured.allreduce_floats.empty()) return;
    const auto times =
        allreduce_times(worker.comm(), options.collective, measured.allreduce_floats, {0, 1, 1, options.burst_s});
    if (worker.rank() == 0) result.allreduce_s = times;
  });
  return result;
}

}  // namespace paragrad::sim::calibration
