#include "metrics/run_folder.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::metrics {
namespace fs = std::filesystem;

namespace {

/// In a safe order of removal: without a manifest the run is incomplete, without a configuration it is not a run.
std::array<const char*, 7> own_files() {
  return {"manifest.json", "state", "metrics.jsonl", "checkpoint.h5", "timeline.json", "order.txt", "config.toml"};
}

RunFolder::Mark after(const RunFolder::Mark& mark, const std::string& line) {
  const std::string chained = mark.sha256 + line;
  return {mark.records + 1, core::sha256(std::as_bytes(std::span(chained)))};
}

}  // namespace

RunFolder::RunFolder(std::string path, Existing existing) : RunFolder(system::FolderLock(path), path, existing) {}

RunFolder::RunFolder(system::FolderLock lock, std::string path, Existing existing)
    : lock_(std::move(lock)), path_(std::move(path)) {
  if (fs::exists(file("search.json")))
    throw core::ConfigError(core::format("'{}' contains a search; choose another `out`", path_));
  if (existing == Existing::refuse && holds_results())
    throw core::ConfigError(core::format("'{}' already contains a run; choose another `out` or add `overwrite`", path_));
  if (existing == Existing::continue_it) open(system::OutputFile::Begin::append);
}

/// A configuration alone may have been put there by the user.
bool RunFolder::holds_results() const {
  if (!fs::exists(file("config.toml"))) return false;
  std::error_code missing;
  const auto recorded_bytes = fs::file_size(file("metrics.jsonl"), missing);
  return missing || recorded_bytes > 0 || !fs::exists(file("manifest.json")) || fs::exists(file("checkpoint.h5")) ||
         fs::exists(file("state"));
}

void RunFolder::begin() {
  if (begun_) return;
  if (fs::exists(file("config.toml")))
    for (const char* name : own_files()) fs::remove_all(file(name));
  open(system::OutputFile::Begin::empty);
  for (const auto& write_file : std::exchange(waiting_, {})) write_file(*this);
}

void RunFolder::open(system::OutputFile::Begin begin) {
  begun_ = true;
  std::error_code error;
  for (const char* name : own_files()) fs::remove(file(std::string(name) + ".tmp"), error);  // left by a killed process
  fs::remove(file(EventFile::name), error);  // a run resumed without one would leave it out of date
  if (error) throw core::ConfigError(core::format("cannot write into the folder '{}'", path_));
  metrics_ = system::OutputFile(file("metrics.jsonl"), begin);
}

void RunFolder::write(const std::string& name, const std::string& content) {
  if (!begun_) return waiting_.push_back([name, content](RunFolder& folder) { folder.write(name, content); });
  system::replace_file(
      file(name), [&](std::ostream& out) { out << content; }, system::Links::replace);
}

void RunFolder::add_event_file(Hyperparameters hyperparameters, EventFile::Clock clock) {
  if (!begun_)
    return waiting_.push_back(
        [hyperparameters, clock](RunFolder& folder) { folder.add_event_file(hyperparameters, clock); });
  events_.emplace(file(EventFile::name), std::move(hyperparameters), clock);
}

void RunFolder::record(const core::Json& record) {
  begin();
  // A path in a record need not be UTF-8; JSON must.
  const std::string line = core::text_of(record);
  metrics_.write(line + "\n");
  if (events_) events_->add(record);
  mark_ = after(mark_, line);
}

RunFolder::Mark RunFolder::sync() {
  if (synced_ == mark_.records) return mark_;
  system::sync_file(file("metrics.jsonl"));
  if (events_) system::sync_file(file(EventFile::name));
  synced_ = mark_.records;
  return mark_;
}

void RunFolder::keep_records(const Mark& mark) {
  std::ifstream in(file("metrics.jsonl"));
  std::string kept;
  std::vector<std::string> lines;
  Mark found;
  for (std::string line; found.records < mark.records && std::getline(in, line) && !in.eof();) {
    found = after(found, line);
    kept += line + "\n";
    lines.push_back(line);
  }
  if (found.records != mark.records || found.sha256 != mark.sha256)
    throw core::ConfigError(
        core::format("cannot resume: '{}' does not contain the {} records written before the interruption; restore "
                     "the file, or start "
                     "another run",
                     file("metrics.jsonl"), mark.records));
  write("metrics.jsonl", kept);
  metrics_ = system::OutputFile(file("metrics.jsonl"), system::OutputFile::Begin::append);
  mark_ = mark;
  synced_ = mark.records;
  if (!events_) return;
  std::vector<core::Json> records;
  for (const auto& line : lines) records.push_back(core::parse_json(line));
  events_->replace(records);
}

}  // namespace paragrad::metrics
