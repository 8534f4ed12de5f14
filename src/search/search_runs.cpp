#include "search/search_runs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <list>
#include <string_view>
#include <thread>

#include "cli/command.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "search/run_words.hpp"
#include "system/child_process.hpp"
#include "system/files.hpp"
#include "system/output_file.hpp"
#include "system/own_program.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::search {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Nothing if the file is missing or is not valid JSON.
std::optional<core::Json> read_json(const std::string& path) {
  if (!fs::exists(path)) return std::nullopt;
  core::Json json = core::parse_json_or_discard(system::read_text(path));
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

/// Nothing if there is no such number of epochs.
std::optional<int> epochs_in(const core::Json& json, const char* key) {
  if (!json.contains(key) || !json.at(key).is_number_unsigned()) return std::nullopt;
  const auto epochs = json.at(key).get<std::uint64_t>();
  return std::in_range<int>(epochs) ? std::optional(static_cast<int>(epochs)) : std::nullopt;
}

/// NAN if there is no such number.
double number_in(const core::Json& json, const std::string& key) {
  return json.is_object() && json.contains(key) && json.at(key).is_number() ? json.at(key).get<double>() : NAN;
}

/// What is recorded of the training, not of its pretraining, up to the epoch (0: the last one). A line that is damaged or
/// still being written is left out.
RunRecord recorded(const std::string& folder, int epoch) {
  std::ifstream lines(folder + "/metrics.jsonl");
  RunRecord found;
  double sent = 0;
  for (std::string line; std::getline(lines, line);) {
    core::Json record = core::parse_json_or_discard(line);
    const auto of = epochs_in(record, "epoch");
    if (!of || record.contains("phase")) continue;
    sent += number_in(record, "sent_bytes");
    if (epoch != 0 && *of != epoch) continue;
    found.values = std::move(record);
    found.epoch = *of;
    found.sent_bytes = sent;
    found.training_s = number_in(found.values, "time_s");
  }
  return found;
}

std::string remark_on(const RunRecord& record, const std::optional<core::Json>& manifest) {
  if (!record.failure.empty()) return manifest ? "failed" : "refused";
  const double without_learning =
      manifest && manifest->is_object() ? number_in(manifest->value("run", core::Json()), "loss_without_learning") : NAN;
  return number_in(record.values, "train_loss") > without_learning ? "diverged or too short" : "";
}

/// Without the program's name.
std::string last_line(const std::string& path) {
  std::ifstream lines(path);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  if (constexpr std::string_view name = "paragrad: "; last.starts_with(name)) last.erase(0, name.size());
  return last;
}

}  // namespace

std::string with_seed(std::string value, std::uint64_t seed) {
  const std::string place = "{seed}", number = std::to_string(seed);
  for (auto at = value.find(place); at != std::string::npos; at = value.find(place, at + number.size()))
    value.replace(at, place.size(), number);
  return value;
}

double RunRecord::score(const std::string& measure) const {
  if (!failure.empty()) return NAN;
  return measure == "training_s" ? training_s : number_in(values, measure);
}

struct SearchRuns::Job {
  std::size_t configuration;
  std::uint64_t seed;
  system::ChildProcess process;
};

std::string run_name(std::size_t configuration, std::uint64_t seed) {
  return core::format("{:03}-s{}", configuration + 1, seed);
}

std::vector<std::string> run_names(const SearchPlan& plan) {
  std::vector<std::string> names;
  for (std::size_t configuration = 0; configuration < plan.configurations.size(); ++configuration)
    for (const std::uint64_t seed : plan.seeds) names.push_back(run_name(configuration, seed));
  return names;
}

SearchRuns::SearchRuns(SearchPlan plan, Report report) : plan_(std::move(plan)), report_(std::move(report)) {}

std::vector<SearchRuns::Run> SearchRuns::own_runs() const {
  std::vector<Run> runs;
  for (const std::size_t number : plan_.own)
    runs.push_back({number / plan_.seeds.size(), plan_.seeds[number % plan_.seeds.size()]});
  return runs;
}

void SearchRuns::forget_failures() {
  for (const auto& [configuration, seed] : own_runs()) fs::remove(path(configuration, seed) + ".failure");
}

std::vector<std::string> SearchRuns::failures() const {
  std::vector<std::string> messages;
  for (const auto& [configuration, seed] : own_runs())
    if (std::string message = record(configuration, seed).failure; !message.empty()) messages.push_back(std::move(message));
  return messages;
}

std::vector<std::string> SearchRuns::behind(const std::vector<std::size_t>& configurations, int epoch) const {
  std::vector<std::string> names;
  for (const std::size_t configuration : configurations)
    for (const std::uint64_t seed : plan_.seeds)
      if (!has_reached(record(configuration, seed, epoch), epoch)) names.push_back(run_name(configuration, seed));
  return names;
}

std::vector<std::string> SearchRuns::command_line(std::size_t configuration, std::uint64_t seed) const {
  std::vector<std::string> command;
  if (plan_.ranks > 0) command = {"mpiexec", "-n", core::format("{}", plan_.ranks)};
  command.push_back(system::own_program());
  const std::string folder = path(configuration, seed);
  const auto words =
      words_of_run(plan_, plan_.configurations[configuration].values, seed, folder, fs::exists(folder + "/state"));
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

RunRecord SearchRuns::record(std::size_t configuration, std::uint64_t seed, int epoch) const {
  const std::string folder = path(configuration, seed);
  RunRecord record = recorded(folder, epoch);
  if (fs::exists(folder + ".failure")) record.failure = system::read_text(folder + ".failure");
  const auto manifest = read_json(folder + "/manifest.json");
  record.finished = manifest && manifest->contains("finished");
  if (record.finished && (epoch == 0 || record.epoch == 0)) {  // a run may end before the epoch
    record.values = manifest->value("result", core::Json());
    const auto epochs = epochs_in(record.values, "epochs");
    if (!epochs)
      throw core::ConfigError(
          core::format("'{}/manifest.json' is damaged: remove the folder, and the run is repeated", folder));
    record.epoch = *epochs;
    record.sent_bytes = number_in(record.values, "sent_bytes");
    record.training_s = number_in(record.values, "training_s");
  }
  record.remark = remark_on(record, manifest);
  return record;
}

bool SearchRuns::has_reached(const RunRecord& record, int epoch) const {
  return record.finished || !record.failure.empty() || (epoch > 0 && record.epoch >= epoch);
}

/// Whether the run has ended, or has reached the epoch and was paused.
bool SearchRuns::is_over(Job& job, int epoch) const {
  const std::string folder = path(job.configuration, job.seed);
  const auto code = job.process.exit_code();
  if (!code) {
    if (epoch == 0 || recorded(folder, epoch).epoch == 0) return false;
    job.process.end();
    return true;
  }
  const std::string message = last_line(folder + ".log");
  if (*code == cli::user_error)  // of this configuration, as if its loss is no longer finite
    system::OutputFile(folder + ".failure", system::OutputFile::Begin::empty).write(message);
  else if (*code != cli::success)
    throw core::ConfigError(core::format("the run {} ended with exit code {} ({}); the same command continues the search",
                                         run_name(job.configuration, job.seed), *code, message));
  return true;
}

void SearchRuns::reach(const std::vector<std::size_t>& configurations, int epoch) {
  if (epoch > 0 && behind(configurations, epoch).empty()) return;
  std::deque<Run> waiting;
  for (const Run& run : own_runs()) {
    if (std::ranges::find(configurations, run.configuration) == configurations.end()) continue;
    const RunRecord so_far = record(run.configuration, run.seed, epoch);
    if (so_far.failure.empty() && has_reached(so_far, epoch)) continue;
    fs::remove(path(run.configuration, run.seed) + ".failure");
    waiting.push_back(run);
  }
  std::list<Job> running;
  while (!waiting.empty() || !running.empty()) {
    worlds::check_interruption();
    while (!waiting.empty() && running.size() < static_cast<std::size_t>(plan_.jobs)) {
      const auto [configuration, seed] = waiting.front();
      waiting.pop_front();
      running.push_back({configuration, seed,
                         system::ChildProcess(command_line(configuration, seed), path(configuration, seed) + ".log")});
    }
    for (auto job = running.begin(); job != running.end();) {
      const auto next = std::next(job);
      if (is_over(*job, epoch)) {
        report_(run_name(job->configuration, job->seed), record(job->configuration, job->seed, epoch));
        running.erase(job);
      }
      job = next;
    }
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace paragrad::search
