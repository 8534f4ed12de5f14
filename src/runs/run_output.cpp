#include "runs/run_output.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <variant>

#include "cli/flat_toml.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "runs/foreign_sources.hpp"
#include "system/files.hpp"
#include "train/state/state_store.hpp"

namespace paragrad::runs {
namespace fs = std::filesystem;
namespace {

/// A value of config.toml: a number, or a string without quotes. A switch that is on may be written as true or as 1.
std::variant<double, std::string> meaning(const std::string& value) {
  if (value == "true" || value == "false") return value == "true" ? 1. : 0.;
  if (const auto number = core::number_of<double>(value); number && std::isfinite(*number)) return *number;
  return cli::text_of_toml(value);
}

metrics::Hyperparameters hyperparameters(const std::string& config) {
  metrics::Hyperparameters result;
  for (const auto& [key, value] : options_in(config)) result[key] = meaning(value);
  return result;
}

/// Null if there is none or it is damaged.
core::Json manifest_in(const std::string& run_folder) {
  const std::string path = run_folder + "/manifest.json";
  if (!fs::exists(path)) return nullptr;
  const core::Json manifest = core::parse_json_or_discard(system::read_text(path));
  return manifest.is_object() ? manifest : core::Json(nullptr);
}

/// A hash alone does not tell what has changed.
[[noreturn]] void refuse_other_source(const std::string& folder) {
  const std::string changed = changed_parts(manifest_in(folder));
  throw core::ConfigError(
      core::format("cannot resume: the strategy of the run in '{}' was other code{}; restore it, or give another --out",
                   folder, changed.empty() ? "" : ", it differs in " + changed));
}

void check_same_options(const std::string& folder, const std::string& config, bool rescales = false) {
  if (!fs::exists(folder + "/config.toml"))
    throw core::ConfigError(
        core::format("cannot resume: '{}/config.toml' with the options of the run is missing; restore it, or start "
                     "another run",
                     folder));
  const RunOptions before = options_of(folder), now = options_in(config);
  const auto value = [](const auto& options, const std::string& key) {
    const auto found = options.find(key);
    return found == options.end() ? std::string("the default") : found->second;
  };
  for (const auto& options : {before, now})
    for (const auto& [key, _] : options)
      if (!cli::same_in_toml(value(before, key), value(now, key)) &&
          !(rescales && options_with(core::OptionMark::rescalable).contains(key))) {
        if (key == source_digest_option) refuse_other_source(folder);
        throw core::ConfigError(core::format(
            "cannot resume: the run in '{}' was started with {} for '{}', not with {}; give the same options{}, "
            "or another --out",
            folder, value(before, key), key, value(now, key), key == "workers" ? " or --rescale" : ""));
      }
}

/// A run that is started with --resume, in case it was interrupted, replaces nothing that was recorded: without a state its
/// records would be lost. A run that saves its state may have been killed before the first one.
void require_state(const TrainingArguments& arguments) {
  if (fs::exists(state_folder(arguments))) return;
  const std::string path = arguments.out + "/metrics.jsonl";
  std::error_code missing;
  if (fs::file_size(path, missing) == 0 || missing) return;
  std::ifstream lines(path);
  std::size_t records = 0;
  for (std::string line; std::getline(lines, line);) ++records;
  throw core::ConfigError(core::format(
      "cannot resume: '{}' holds {} record{} of a run that saved no state (`checkpoint-every`): give `overwrite` "
      "instead of `resume` to start again, or another `out`",
      arguments.out, records, records == 1 ? "" : "s"));
}

void find_state(OpenedRun& opened, const TrainingArguments& arguments, const std::string& config,
                const train::RunIdentity& run, int workers) {
  const std::string state = state_folder(arguments);
  const int saved = train::saved_workers(state);  // 0 if there is no state: then the run begins again
  const bool differ = saved != workers;           // refused by the training if there is no --rescale
  if (arguments.rescale && differ) opened.rescaled_from = saved;
  if (fs::exists(arguments.out + "/config.toml") || fs::exists(state))
    check_same_options(arguments.out, config, arguments.rescale && differ);
  opened.resume_phase = train::saved_phase(state, arguments.options, run, differ);
  if (!opened.resume_phase) require_state(arguments);
}

/// A rescaling that is tried again, because its run was killed before the next state, is noted once.
core::Json rescalings_of(const TrainingArguments& arguments, int before, int now) {
  const core::Json manifest = manifest_in(arguments.out);
  core::Json all = core::Json::array();
  if (manifest.contains("run") && manifest["run"].is_object()) all = manifest["run"].value("rescaled", all);
  if (const auto at = train::StateStore::saved_position(state_folder(arguments)); at && before > 0) {
    const core::Json one = {{"epoch", at->epoch}, {"block", at->block}, {"workers_before", before}, {"workers", now}};
    if (all.empty() || all.back() != one) all.push_back(one);
  }
  return all;
}

}  // namespace

std::string state_folder(const TrainingArguments& arguments) {
  return arguments.out.empty() ? "" : arguments.out + "/state";
}

std::string spelt_as_before(const TrainingArguments& arguments, const std::string& config) {
  if (!arguments.resume) return config;
  const RunOptions before = options_of(arguments.out);
  std::string result;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    const auto old = before.find(line.substr(0, equals));
    const bool same = old != before.end() && cli::same_in_toml(old->second, line.substr(equals + 1));
    result += same ? core::format("{}={}\n", old->first, old->second) : line + "\n";
  }
  return result;
}

bool is_complete(const TrainingArguments& arguments, const std::string& config) {
  if (!arguments.resume) return false;
  if (!manifest_in(arguments.out).contains("finished")) return false;
  check_same_options(arguments.out, config, arguments.rescale);
  return true;
}

void require_same_run(const TrainingArguments& arguments, const std::string& config) {
  if (fs::exists(arguments.out + "/config.toml")) check_same_options(arguments.out, config);
}

void require_same_start(const TrainingArguments& arguments, const core::Json& manifest) {
  if (!arguments.resume || train::saved_workers(state_folder(arguments)) == 0) return;
  const core::Json before = manifest_in(arguments.out);
  const core::Json::json_pointer at("/run/init_sha256");
  if (before.contains(at) && manifest.contains(at) && before[at] != manifest[at])
    throw core::ConfigError(
        core::format("cannot resume: '{}' is another checkpoint than that from which the run in '{}' began; restore it, or "
                     "give another --out",
                     arguments.options.init, arguments.out));
}

void remove_state(const TrainingArguments& arguments) { train::remove_state(state_folder(arguments)); }

int say_complete(const TrainingArguments& arguments) {
  remove_state(arguments);
  fmt::print("the run in {} is complete: nothing to resume\n", core::printable(arguments.out));
  return cli::success;
}

train::RunIdentity identity_of(const TrainingArguments& arguments, const std::string& config,
                               const train::TrainingData& source) {
  if (!arguments.resume && arguments.checkpoint_every == 0) return {};
  std::string text;
  for (const auto& [key, value] : options_in(config))
    if (key != "data") text += core::format("{}={}\n", key, value);  // its content counts, not its path on a rank
  return train::identify_run(text, source);
}

OpenedRun open_run(const TrainingArguments& arguments, const std::string& config, const train::RunIdentity& run, int workers,
                   metrics::EventFile::Clock clock) {
  using Existing = metrics::RunFolder::Existing;
  if (arguments.out.empty()) return {};
  cli::require_utf8(config);
  system::FolderLock lock(arguments.out);
  OpenedRun opened;
  if (arguments.resume) find_state(opened, arguments, config, run, workers);
  const bool may_stay = arguments.resume && opened.resume_phase;
  if (may_stay) opened.rescalings = rescalings_of(arguments, opened.rescaled_from, workers);
  const bool may_go = arguments.resume || arguments.overwrite;
  opened.folder.emplace(std::move(lock), arguments.out,
                        may_stay ? Existing::continue_it
                        : may_go ? Existing::replace
                                 : Existing::refuse);
  opened.folder->write("config.toml", config);
  if (arguments.tensorboard) opened.folder->add_event_file(hyperparameters(config), clock);
  return opened;
}

train::TrainingOptions options_to_train(train::TrainingOptions options, const OpenedRun& opened,
                                        metrics::Progress* progress) {
  std::string& record = options.servers.record;
  if (!opened.resume_phase || record.empty()) return options;
  record.clear();
  if (progress != nullptr)
    progress->say("the order of the servers' work is not recorded, because a resumed run would record only a part of it");
  return options;
}

train::Output output_of(const TrainingArguments& arguments, OpenedRun& opened, const train::RunIdentity& run,
                        metrics::Progress* progress) {
  return {.folder = opened.folder ? &*opened.folder : nullptr,
          .progress = progress,
          .state_folder = state_folder(arguments),
          .state_every_blocks = arguments.checkpoint_every,
          .resume_phase = opened.resume_phase,
          .rescales = arguments.rescale,
          .run = run};
}

}  // namespace paragrad::runs
