#include <algorithm>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/python_figure.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "predict/scaling.hpp"
#include "worlds/device_rate.hpp"

namespace paragrad::app {
namespace {

using predict::ScalingPoint;
using predict::SimulationArguments;

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

int draw(const std::vector<ScalingPoint>& points, const sim::Platform& platform, const std::vector<std::string>& out) {
  if (out.empty()) return cli::success;
  std::vector<std::string> words{
      core::format("--title={} on {}", core::printable(points.front().run.model()), core::printable(platform.name))};
  for (const std::string& file : out) words.push_back("--out=" + file);
  for (const ScalingPoint& point : points) {
    const double factor = point.sure ? point.sure->factor(sim::fitting::student_95) : 1, rate = point.times.samples_per_s;
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
  std::vector<ScalingPoint> points;
  for (const int n : workers)
    points.push_back(predict::scaling_point(simulation, platform, n, arguments.minibatch_per_worker));
  if (arguments.format == "json") {
    fmt::print("{}\n", core::text_of(predict::scaling_json(points, platform), 2));
    return draw(points, platform, arguments.out);
  }
  predict::print_scaling(points, platform, samples);
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
