#include <cmath>
#include <fstream>

#include "app/command.hpp"
#include "app/comparison.hpp"
#include "app/prediction.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"

namespace paragrad::app {
namespace {

double number(const core::Json& json, const char* key) { return json.at(key).is_null() ? NAN : json.at(key).get<double>(); }

/// Runs of earlier versions lack some.
double number_if_any(const core::Json& json, const char* key) { return json.contains(key) ? number(json, key) : NAN; }

FinishedRun read_run(const std::string& folder) {
  std::ifstream file(folder + "/manifest.json");
  if (!file) throw core::ConfigError(core::format("'{}' is not a run folder: it has no manifest.json", folder));
  FinishedRun run{folder, core::Json::parse(file)};
  if (!run.manifest.contains("result")) throw core::ConfigError(core::format("the run '{}' has not finished", folder));
  return run;
}

ComparedRun row_of(const FinishedRun& finished) {
  const core::Json& run = finished.manifest.at("run");
  const core::Json& result = finished.manifest.at("result");
  ComparedRun row;
  row.folder = finished.folder;
  row.method = run.at("strategy");
  if (row.method.starts_with("bmuf")) row.method += " " + run.at("strategy_options").at("bmuf-kind").get<std::string>();
  row.splits = run.at("splits");
  row.blocks = run.at("blocks");
  row.workers = run.at("workers");
  row.epochs = run.at("epochs");
  row.clock = run.at("world") == "simulation" ? "simulated" : "wall";
  row.valid_error = number(result, "valid_error");
  row.test_error = number(result, "test_error");
  row.training_s = number(result, "training_s");
  row.optimise_s = number(result, "optimise_s");
  row.aggregate_s = number(result, "aggregate_s");
  row.validate_s = number(result, "validate_s");
  row.sent_bytes = number_if_any(result, "sent_bytes");
  row.received_bytes = number_if_any(result, "received_bytes");
  row.messages = number_if_any(result, "messages");
  row.exposed = number_if_any(result, "exposed");
  row.samples_per_s = result.at("samples").get<double>() / row.training_s;
  if (const core::Json& hash = result.at("parameters_sha256"); !hash.is_null()) row.hash = hash;
  return row;
}

/// The baseline of speed-ups: the first run with one worker on the same clock.
const ComparedRun* baseline(const std::vector<ComparedRun>& runs, const std::string& clock) {
  for (const ComparedRun& run : runs)
    if (run.workers == 1 && run.clock == clock) return &run;
  return nullptr;
}

struct CompareArguments {
  std::vector<std::string> folders;
  std::string format = "text";
};

int compare(const CompareArguments& arguments) {
  std::vector<FinishedRun> finished;
  std::vector<ComparedRun> runs;
  for (const std::string& folder : arguments.folders) {
    try {
      finished.push_back(read_run(folder));
      runs.push_back(row_of(finished.back()));
    } catch (const core::Json::exception& error) {
      throw core::ConfigError(core::format("'{}/manifest.json' is damaged: {}", folder, error.what()));
    }
  }
  for (ComparedRun& run : runs)
    if (const ComparedRun* one = baseline(runs, run.clock)) run.speed_up = run.samples_per_s / one->samples_per_s;
  fmt::print("{}", comparison(runs, arguments.format));
  if (arguments.format == "text") print_predictions(finished);
  return success;
}

}  // namespace

Command compare_command() {
  auto arguments = std::make_shared<CompareArguments>();
  auto parser = make_parser("compare", "Print finished runs side by side, and the ratios of predicted to measured times.");
  parser->add_option("runs", arguments->folders, "folders of finished runs")->required();
  parser->add_option("--format", arguments->format, "format of the table; csv and json keep full precision")
      ->check(known_names(comparison_formats()));
  set_examples(*parser,
               "paragrad compare runs/one runs/eight\n"
               "paragrad compare runs/one runs/eight --format markdown\n"
               "paragrad compare runs/* --format csv > runs.csv");
  return {parser, [arguments] { return compare(*arguments); }};
}

}  // namespace paragrad::app
