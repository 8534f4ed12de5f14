#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/python_figure.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "predict/limit.hpp"
#include "predict/timing_run.hpp"
#include "sim/fitting/interval.hpp"
#include "worlds/device_rate.hpp"

namespace paragrad::app {
namespace {

using predict::SimulationArguments;
using predict::TimingRun;

namespace fitting = sim::fitting;

struct ScaleArguments {
  SimulationArguments simulation;
  std::string workers = "1..64";
  std::size_t minibatch_per_worker = 0;
  std::string format = "text";
  std::vector<std::string> out;

  ScaleArguments() {
    runs::TrainingArguments& training = simulation.training;
    training.options.strategy = "data_parallel";
    training.options.epochs = 1;
    training.options.computes = false;
    training.device = "meta";
    training.is_kept = false;
    simulation.world.one_number_of_workers = false;
  }

  void describe(core::OptionList& list) {
    simulation.describe(list);
    list.group("Scaling");
    list.text("workers", workers,
              "numbers of workers: a list, or the first and the last of doubled ones (8,16,24 or 8..1024)")
        .mark(core::OptionMark::common);
    list.number("minibatch-per-worker", minibatch_per_worker, {.least = 0, .most = 1'000'000'000},
                "samples of each worker's part of a minibatch, instead of `minibatch` (0: as `minibatch` says)")
        .off("0")
        .mark(core::OptionMark::common);
    list.choice("format", format, {"text", "json"}, "text, or json with full precision");
    list.words("out", out, "files to draw the rates in, separated by commas; their names end in .svg or .png")
        .without_default("no picture");
  }
};

std::vector<int> workers_of(const std::string& text) {
  constexpr int most = 1'000'000;
  const auto number = [&](std::string_view one) {
    const auto value = core::number_of<int>(one);
    if (!value || *value < 1 || *value > most)
      throw core::ConfigError(core::format("--workers: '{}' is neither a list of numbers (8,16,24) nor a range (8..1024)",
                                           core::printable(text)));
    return *value;
  };
  std::vector<int> all;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const int last = number(std::string_view(text).substr(dots + 2));
    for (int n = number(std::string_view(text).substr(0, dots)); n <= last; n *= 2) all.push_back(n);
  } else {
    for (const std::string& one : core::list_of("workers", text)) all.push_back(number(one));
  }
  if (all.empty()) throw core::ConfigError(core::format("--workers: '{}' holds no number", core::printable(text)));
  std::ranges::sort(all);
  return all;
}

/// One number of workers.
struct Point {
  TimingRun run;
  fitting::Row row;
  double rate = 0;
  TimingRun::Times times;
  predict::Limit limit;
  std::optional<fitting::Uncertainty> sure;

  double speed_up(const Point& first) const { return times.samples_per_s / first.times.samples_per_s; }
  double efficiency(const Point& first) const { return speed_up(first) * first.run.workers() / run.workers(); }
};

Point point_of(SimulationArguments simulation, const sim::Platform& platform, int workers,
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
  Point point{
      .run = run, .row = run.row(platform, number), .rate = run.known_rate(platform), .times = {}, .limit = {}, .sure = {}};
  point.times = run.time(platform, point.rate);
  point.limit = predict::limit_of(run, platform, point.rate);
  if (platform.fit && point.rate > 0) point.sure = fitting::uncertainty_of(platform, point.row, point.rate);
  return point;
}

// ---- what is printed

std::string percent(double share) { return core::format("{:.1f} %", 100 * share); }
std::string half_width(double spread) { return core::format("± {:.0f} %", 100 * std::expm1(fitting::student_95 * spread)); }

/// Of an epoch, on all devices.
std::string cost_of(const Point& point, const sim::Platform& platform, std::size_t samples) {
  if (platform.device.price_per_hour == 0 || samples == 0) return "-";
  const double hours = static_cast<double>(samples) / point.times.samples_per_s / 3600;
  return core::format("{:.4g}", hours * platform.device.price_per_hour * point.run.workers());
}

void print_table(const std::vector<Point>& points, const sim::Platform& platform, std::size_t samples) {
  fmt::print("{:>8} {:>6} {:>12} {:>23} {:>9} {:>10} {:>10} {:>10}  limited by\n", "workers", "nodes", "samples/s", "95 %",
             "speed-up", "efficiency", "exchange", "epoch cost");
  for (const Point& point : points) {
    const double factor = point.sure ? point.sure->factor(fitting::student_95) : 1, rate = point.times.samples_per_s;
    fmt::print("{:>8} {:>6} {:>12} {:>23} {:>9} {:>10} {:>10} {:>10}  {} ({:.0f} %)\n", point.run.workers(),
               point.run.nodes(platform), core::format("{:.5g}", rate),
               point.sure ? core::format("{:.5g} … {:.5g}", rate / factor, rate * factor) : "-",
               core::format("{:.4g}", point.speed_up(points.front())), percent(point.efficiency(points.front())),
               percent(point.times.exchange), cost_of(point, platform, samples), point.limit.name, 100 * point.limit.share);
  }
}

/// From which number of workers on more of them bring less than half of what they should.
void print_knee(const std::vector<Point>& points) {
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

void print_memory(const std::vector<Point>& points, const sim::Platform& platform) {
  const auto need = [](const Point& point) { return point.run.device_bytes(); };
  const Point& largest = *std::ranges::max_element(points, {}, need);
  const double has = platform.device.memory_bytes;
  const auto say = [](double bytes) { return core::format_quantity(bytes, core::Unit::bytes); };
  fmt::print("memory: at least {} on each of {} devices{}\n", say(need(largest)), largest.run.workers(),
             has == 0 ? "" : core::format(", of {}: it {}", say(has), need(largest) <= has ? "fits" : "does not fit"));
}

/// Which measurement, on at most half of the workers, would tell most about the largest number.
void print_advice(const std::vector<Point>& points, const sim::Platform& platform) {
  const Point& target = points.back();
  if (!target.sure) {
    fmt::print("no intervals: {}\n", platform.fit
                                         ? "nobody has measured how fast a device trains this model here"
                                         : "nothing was measured on this platform; `paragrad fit` makes one of what was");
    return;
  }
  if (!target.sure->unmeasured.empty()) fmt::print("nobody has measured {}\n", core::join(target.sure->unmeasured, ", "));
  const Point* best = nullptr;
  double least = target.sure->spread;
  for (const Point& point : points) {
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

core::Json json_of(const std::vector<Point>& points, const sim::Platform& platform) {
  core::Json all = core::Json::array();
  for (const Point& point : points) {
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

int draw(const std::vector<Point>& points, const sim::Platform& platform, const std::vector<std::string>& out) {
  if (out.empty()) return cli::success;
  std::vector<std::string> words{
      core::format("--title={} on {}", core::printable(points.front().run.model()), core::printable(platform.name))};
  for (const std::string& file : out) words.push_back("--out=" + file);
  for (const Point& point : points) {
    const double factor = point.sure ? point.sure->factor(fitting::student_95) : 1, rate = point.times.samples_per_s;
    words.push_back(
        core::text_of(core::Json::array({point.run.workers(), rate, rate / factor, rate * factor, point.limit.name}), -1));
  }
  return draw_in_python("scale_figure", words);
}

int run(ScaleArguments& arguments, const CLI::App& parser) {
  SimulationArguments& simulation = arguments.simulation;
  runs::TrainingArguments& training = simulation.training;
  const std::size_t samples = simulation.imaginary_samples[0];
  const std::vector<int> workers = workers_of(arguments.workers);
  runs::resolve(training);
  runs::settle(cli::use_of(parser, arguments), training);
  training.options.schedule.initial_rate = 1;  // unused
  if (training.options.minibatch == 0 && arguments.minibatch_per_worker == 0)
    throw core::ConfigError("give the size of the minibatch with --minibatch-per-worker or --minibatch");
  if (!training.options.data.empty() && samples > 0)
    throw core::ConfigError("give either --data or --train-samples, not both");
  if (!train::shares_minibatches(training.options) && samples == 0 && training.options.data.empty())
    throw core::ConfigError(
        core::format("--strategy {} synchronises once per block, which is a part of --train-samples: give these",
                     training.options.strategy));
  for (const std::string& file : arguments.out)
    if (!file.ends_with(".svg") && !file.ends_with(".png"))
      throw core::ConfigError(
          core::format("--out: '{}' is not the name of a figure: it has to end in .svg or .png", core::printable(file)));
  if (training.options.max_blocks == 0) training.options.max_blocks = 1;
  const sim::Platform platform = worlds::with_options(sim::read_platform(simulation.world.platform), simulation.world);
  simulation.world.device_rate.step_cost_s.reset();  // it is the platform's now, and may be what limits the training
  std::vector<Point> points;
  for (const int n : workers) points.push_back(point_of(simulation, platform, n, arguments.minibatch_per_worker));
  if (arguments.format == "json") {
    fmt::print("{}\n", core::text_of(json_of(points, platform), 2));
    return draw(points, platform, arguments.out);
  }
  print_table(points, platform, samples);
  print_knee(points);
  print_memory(points, platform);
  print_advice(points, platform);
  return draw(points, platform, arguments.out);
}

}  // namespace

cli::Command scale_command() {
  auto arguments = std::make_shared<ScaleArguments>();
  auto parser = cli::make_parser(
      "scale",
      "Predict how a training scales: speed-up, what limits it, what it costs, and how sure that is.\n"
      "The intervals, and which measurement would narrow them most, need a platform that `paragrad fit` has written.");
  runs::add_training_options(*parser, *arguments);
  cli::set_examples(
      *parser,
      "paragrad scale --model zoo:resnet50 --platform h100-ndr-nvlink --collective nccl --bucket-bytes 25000000 \\\n"
      "    --overlap --minibatch-per-worker 128 --device-rate 2500 --workers 8..256");
  return {parser, [arguments, parser] { return run(*arguments, *parser); }};
}

}  // namespace paragrad::app
