#include "runs/finished_run.hpp"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "system/files.hpp"

namespace paragrad::runs {
namespace fs = std::filesystem;
namespace {

double number_at(const core::Json& json, const char* key) {
  return json.at(key).is_null() ? NAN : json.at(key).get<double>();
}

/// Runs of earlier versions lack some.
double number_if_any(const core::Json& json, const char* key) { return json.contains(key) ? number_at(json, key) : NAN; }

template <class T>
T count_at(const core::Json& json, const char* key) {
  const core::Json& value = json.at(key);
  if (!value.is_number_unsigned() || !std::in_range<T>(value.get<std::uint64_t>()))
    throw core::ConfigError(core::format("'{}' is not a count", key));
  return value.get<T>();
}

ComparedRun row_of(const core::Json& manifest) {
  const core::Json &run = manifest.at("run"), &result = manifest.at("result");
  ComparedRun row;
  row.method = run.at("strategy");
  if (row.method.starts_with("bmuf")) row.method += " " + run.at("strategy_options").at("bmuf-kind").get<std::string>();
  row.splits = count_at<std::size_t>(run, "splits");
  row.blocks = count_at<std::size_t>(run, "blocks");
  row.workers = count_at<int>(run, "workers");
  row.epochs = count_at<int>(result, "epochs");  // trained, which may be fewer than were asked for
  row.clock = run.at("world") == "simulation" ? "simulated" : "wall";
  row.valid_error = number_at(result, "valid_error");
  row.test_error = number_at(result, "test_error");
  row.training_s = number_at(result, "training_s");
  row.optimise_s = number_at(result, "optimise_s");
  row.aggregate_s = number_at(result, "aggregate_s");
  row.validate_s = number_at(result, "validate_s");
  row.sent_bytes = number_if_any(result, "sent_bytes");
  row.received_bytes = number_if_any(result, "received_bytes");
  row.messages = number_if_any(result, "messages");
  row.exposed = number_if_any(result, "exposed");
  row.samples_per_s = result.at("samples").get<double>() / row.training_s;
  if (const core::Json& hash = result.at("parameters_sha256"); !hash.is_null()) row.hash = hash;
  return row;
}

/// Other commands write manifests, too.
void require_training(const std::string& folder, const core::Json& manifest) {
  const core::Json run = manifest.value("run", core::Json::object());
  const char* what = run.contains("operation")  ? "measurements of a collective operation"
                     : run.contains("failures") ? "a prediction of goodput"
                                                : nullptr;
  if (!run.contains("strategy") && what != nullptr)
    throw core::ConfigError(
        core::format("'{}' contains {}, not a training: give folders of train or simulate", folder, what));
}

FinishedRun run_of(const std::string& folder, const core::Json& manifest) {
  const core::Json &run = manifest.at("run"), &result = manifest.at("result");
  FinishedRun finished{row_of(manifest), core::Json{run.at("workers"), run.at("splits"), run.at("blocks"),
                                                    result.at("epochs"), result.at("samples")}};
  finished.row.folder = folder;
  return finished;
}

core::ConfigError damaged(const std::string& folder, const std::exception& error) {
  return core::ConfigError(core::format("'{}/manifest.json' is damaged: {}", folder, error.what()));
}

}  // namespace

bool is_search(const std::string& folder) { return fs::is_regular_file(fs::path(folder) / "search.json"); }

std::vector<std::string> without_files_of_searches(std::vector<std::string> paths) {
  const auto is_one = [](const std::string& path) {
    const fs::path folder = fs::path(path).parent_path();
    return is_search(folder.empty() ? "." : folder.string()) && fs::is_regular_file(path);
  };
  const std::string first = paths.empty() ? "" : paths.front();
  std::erase_if(paths, is_one);
  if (paths.empty())
    throw core::ConfigError(core::format("'{}' is a file of a search: give the folders of its runs", first));
  return paths;
}

core::Json read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  if (!std::filesystem::is_regular_file(path))
    throw core::ConfigError(core::format("'{}' is not a run folder: it has no manifest.json", folder));
  const std::string text = system::read_text(path);
  try {
    return core::parse_json(text);
  } catch (const std::exception& error) {
    throw damaged(folder, error);
  }
}

FinishedRun read_finished_run(const std::string& folder) {
  const core::Json manifest = read_manifest(folder);
  if (!manifest.contains("result")) throw core::ConfigError(core::format("the run '{}' has not finished", folder));
  require_training(folder, manifest);
  try {
    return run_of(folder, manifest);
  } catch (const std::exception& error) {  // of core::Json, most of them
    throw damaged(folder, error);
  }
}

}  // namespace paragrad::runs
