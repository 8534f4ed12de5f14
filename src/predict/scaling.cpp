#include "predict/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "worlds/device_rate.hpp"

namespace paragrad::predict {
namespace fitting = sim::fitting;
namespace {

std::string percent(double share) { return core::format("{:.1f} %", 100 * share); }
std::string half_width(double spread) { return core::format("± {:.0f} %", 100 * std::expm1(fitting::student_95 * spread)); }

/// Of an epoch, on all devices.
std::string cost_of(const ScalingPoint& point, const sim::Platform& platform, std::size_t samples) {
  if (platform.device.price_per_hour == 0 || samples == 0) return "-";
  const double hours = static_cast<double>(samples) / point.times.samples_per_s / 3600;
  return core::format("{:.4g}", hours * platform.device.price_per_hour * point.run.workers());
}

void print_table(const std::vector<ScalingPoint>& points, const sim::Platform& platform, std::size_t samples) {
  fmt::print("{:>8} {:>6} {:>12} {:>23} {:>9} {:>10} {:>10} {:>10}  limited by\n", "workers", "nodes", "samples/s", "95 %",
             "speed-up", "efficiency", "exchange", "epoch cost");
  for (const ScalingPoint& point : points) {
    const double factor = point.sure ? point.sure->factor(fitting::student_95) : 1, rate = point.times.samples_per_s;
    fmt::print("{:>8} {:>6} {:>12} {:>23} {:>9} {:>10} {:>10} {:>10}  {} ({:.0f} %)\n", point.run.workers(),
               point.run.nodes(platform), core::format("{:.5g}", rate),
               point.sure ? core::format("{:.5g} … {:.5g}", rate / factor, rate * factor) : "-",
               core::format("{:.4g}", point.speed_up(points.front())), percent(point.efficiency(points.front())),
               percent(point.times.exchange), cost_of(point, platform, samples), point.limit.name, 100 * point.limit.share);
  }
}

/// From which number of workers on more of them bring less than half of what they should.
void print_knee(const std::vector<ScalingPoint>& points) {
  constexpr double half = 0.5;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double gain = points[i].times.samples_per_s / points[i - 1].times.samples_per_s;
    const double workers = static_cast<double>(points[i].run.workers()) / points[i - 1].run.workers();
    if (gain - 1 >= half * (workers - 1)) continue;
    fmt::print("knee: from {} to {} workers the rate grows by {:.2f} instead of {:.4g}\n", points[i - 1].run.workers(),
               points[i].run.workers(), gain, workers);
    return;
  }
  fmt::print("no knee: each of these steps brings at least half of what it should\n");
}

void print_memory(const std::vector<ScalingPoint>& points, const sim::Platform& platform) {
  const auto need = [](const ScalingPoint& point) { return point.run.device_bytes(); };
  const ScalingPoint& largest = *std::ranges::max_element(points, {}, need);
  const double has = platform.device.memory_bytes;
  const auto say = [](double bytes) { return core::format_quantity(bytes, core::Unit::bytes); };
  fmt::print("memory: at least {} on each of {} devices{}\n", say(need(largest)), largest.run.workers(),
             has == 0 ? "" : core::format(", of {}: it {}", say(has), need(largest) <= has ? "fits" : "does not fit"));
}

/// Which measurement, on at most half of the workers, would tell most about the largest number.
void print_advice(const std::vector<ScalingPoint>& points, const sim::Platform& platform) {
  const ScalingPoint& target = points.back();
  if (!target.sure) {
    fmt::print("no intervals: {}\n", platform.fit
                                         ? "nobody has measured how fast a device trains this model here"
                                         : "nothing was measured on this platform; `paragrad fit` makes one of what was");
    return;
  }
  if (!target.sure->unmeasured.empty()) fmt::print("nobody has measured {}\n", core::join(target.sure->unmeasured, ", "));
  const ScalingPoint* best = nullptr;
  double least = target.sure->spread;
  for (const ScalingPoint& point : points) {
    if (2 * point.run.workers() > target.run.workers()) break;
    const double spread = fitting::spread_after(platform, *target.sure, point.row, point.rate);
    if (spread < least) least = spread, best = &point;
  }
  if (least > 0.9 * target.sure->spread) best = nullptr;
  if (best != nullptr)
    fmt::print("a run on {} workers ({} {}) would narrow the interval of {} most: {} becomes {}\n", best->run.workers(),
               best->run.nodes(platform), best->run.nodes(platform) == 1 ? "node" : "nodes", target.run.workers(),
               half_width(target.sure->spread), half_width(least));
  else
    fmt::print("no run on fewer workers would narrow the interval of {} by a tenth\n", target.run.workers());
}

}  // namespace

ScalingPoint scaling_point(SimulationArguments simulation, const sim::Platform& platform, int workers,
                           std::size_t minibatch_per_worker) {
  simulation.world.workers = workers;
  train::TrainingOptions& options = simulation.training.options;
  if (minibatch_per_worker > 0)
    options.minibatch = minibatch_per_worker * (train::shares_minibatches(options) ? static_cast<std::size_t>(workers) : 1);
  if (train::shares_minibatches(options)) {
    constexpr double most = 1e15;
    if (options.max_steps == 0) options.max_steps = TimingRun::steps_timed;
    if (static_cast<double>(options.blocks) * static_cast<double>(options.max_steps) *
            static_cast<double>(options.minibatch) >
        most)
      throw core::ConfigError("blocks, steps and minibatches are too many samples to be counted");
    if (options.data.empty())
      simulation.imaginary_samples[0] =
          std::max(simulation.imaginary_samples[0], options.blocks * options.max_steps * options.minibatch);
  }
  const TimingRun run(simulation);
  const int number = simulation.world.device_rate.samples_per_s > 0 ? -1 : worlds::number_of_rate(platform, run.model());
  ScalingPoint point{
      .run = run, .row = run.row(platform, number), .rate = run.known_rate(platform), .times = {}, .limit = {}, .sure = {}};
  point.times = run.time(platform, point.rate);
  point.limit = limit_of(run, platform, point.rate);
  if (platform.fit && point.rate > 0) point.sure = fitting::uncertainty_of(platform, point.row, point.rate);
  return point;
}

void print_scaling(const std::vector<ScalingPoint>& points, const sim::Platform& platform, std::size_t samples) {
  print_table(points, platform, samples);
  print_knee(points);
  print_memory(points, platform);
  print_advice(points, platform);
}

core::Json scaling_json(const std::vector<ScalingPoint>& points, const sim::Platform& platform) {
  core::Json all = core::Json::array();
  for (const ScalingPoint& point : points) {
    core::Json one = {{"workers", point.run.workers()},
                      {"nodes", point.run.nodes(platform)},
                      {"samples_per_s", point.times.samples_per_s},
                      {"exchange", point.times.exchange},
                      {"speed_up", point.speed_up(points.front())},
                      {"efficiency", point.efficiency(points.front())},
                      {"limit", point.limit.name},
                      {"limit_share", point.limit.share},
                      {"device_bytes", point.run.device_bytes()}};
    if (point.sure)
      one["spread"] = point.sure->spread, one["beyond"] = point.sure->is_beyond, one["unmeasured"] = point.sure->unmeasured;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace paragrad::predict
