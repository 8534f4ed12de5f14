#include <cmath>
#include <fstream>
#include <optional>

#include "app/command.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/units.hpp"

namespace paragrad::app {
namespace {

/// What the table shows of a run, from its manifest.
struct Row {
  std::string folder;
  std::string method;
  std::size_t splits = 0, blocks = 0;
  int workers = 0, sweeps = 0;
  double valid_error = NAN, test_error = NAN;
  double training_s = NAN, optimise_s = NAN, aggregate_s = NAN, validate_s = NAN;
  double samples_per_s = NAN;
  std::string clock;
  std::string hash;
};

double number(const core::Json& json, const char* key) { return json.at(key).is_null() ? NAN : json.at(key).get<double>(); }

Row read_run(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  std::ifstream file(path);
  if (!file) throw core::ConfigError(core::format("'{}' is no run folder: it has no manifest.json", folder));
  try {
    const core::Json manifest = core::Json::parse(file);
    if (!manifest.contains("result")) throw core::ConfigError(core::format("the run '{}' has not finished", folder));
    const core::Json& run = manifest.at("run");
    const core::Json& result = manifest.at("result");
    Row row;
    row.folder = folder;
    row.method = run.at("strategy");
    if (row.method.starts_with("bmuf")) row.method += " " + run.at("bmuf_kind").get<std::string>();
    row.splits = run.at("splits");
    row.blocks = run.at("blocks");
    row.workers = run.at("workers");
    row.sweeps = run.at("sweeps");
    row.clock = run.at("world") == "simulation" ? "virtual" : "wall";
    row.valid_error = number(result, "valid_error");
    row.test_error = number(result, "test_error");
    row.training_s = number(result, "training_s");
    row.optimise_s = number(result, "optimise_s");
    row.aggregate_s = number(result, "aggregate_s");
    row.validate_s = number(result, "validate_s");
    row.samples_per_s = result.at("samples").get<double>() / row.training_s;
    const core::Json& hash = result.at("parameters_sha256");  // null: timing only
    row.hash = hash.is_null() ? "-" : hash.get<std::string>().substr(0, 12);
    return row;
  } catch (const core::Json::exception& error) {
    throw core::ConfigError(core::format("'{}' is damaged: {}", path, error.what()));
  }
}

/// The single worker against which speed-ups are taken: the first run with one worker on the same clock.
const Row* baseline(const std::vector<Row>& rows, const std::string& clock) {
  for (const Row& row : rows)
    if (row.workers == 1 && row.clock == clock) return &row;
  return nullptr;
}

std::string percent(double share) { return std::isnan(share) ? "-" : core::format("{:.2f}", 100 * share); }

void print(const std::vector<Row>& rows) {
  std::size_t width = 3;
  for (const Row& row : rows) width = std::max(width, row.folder.size());
  fmt::print("{:<{}}  {:<15} {:>8} {:>6}  {:>8} {:>8}  {:<7} {:>9} {:>9} {:>9} {:>9}  {:>8}  {}\n", "run", width, "method",
             "NxM", "sweeps", "valid %", "test %", "clock", "time", "optimise", "aggregate", "validate", "speed-up",
             "weights");
  const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
  for (const Row& row : rows) {
    const Row* one = baseline(rows, row.clock);
    const std::string speed_up = one == nullptr ? "-" : core::format("{:.2f}", row.samples_per_s / one->samples_per_s);
    fmt::print("{:<{}}  {:<15} {:>8} {:>6}  {:>8} {:>8}  {:<7} {:>9} {:>9} {:>9} {:>9}  {:>8}  {}\n", row.folder, width,
               row.method, core::format("{}x{}", row.splits, row.blocks), row.sweeps, percent(row.valid_error),
               percent(row.test_error), row.clock, time(row.training_s), time(row.optimise_s), time(row.aggregate_s),
               time(row.validate_s), speed_up, row.hash);
  }
  fmt::print("speed-up: samples per second against the first run with one worker on the same clock\n");
}

}  // namespace

int compare_command(std::span<char*> argv) {
  std::vector<std::string> folders;
  const auto parser = make_parser("paragrad compare", "Prints finished runs side by side.");
  parser->add_option("runs", folders, "run folders")->required();
  if (const auto code = parse(*parser, argv)) return *code;
  std::vector<Row> rows;
  for (const std::string& folder : folders) rows.push_back(read_run(folder));
  print(rows);
  return success;
}

}  // namespace paragrad::app
