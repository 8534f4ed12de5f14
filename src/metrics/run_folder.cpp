#include "metrics/run_folder.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"

namespace paragrad::metrics {
namespace fs = std::filesystem;

RunFolder::RunFolder(std::string path, Existing existing) : path_(std::move(path)) {
  if (existing != Existing::continue_it && fs::exists(file("config.toml"))) {
    if (existing == Existing::refuse)
      throw core::ConfigError(core::format("'{}' holds a run already; choose another --out or add --overwrite", path_));
    for (const char* name :
         {"config.toml", "manifest.json", "metrics.jsonl", "checkpoint.h5", "timeline.json", "order.txt", "state"})
      fs::remove_all(file(name));
  }
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) fs::remove(file(EventFile::name), error);  // whoever continues the run without it would let it fall behind
  metrics_.open(file("metrics.jsonl"), existing == Existing::continue_it ? std::ios::app : std::ios::trunc);
  if (error || !metrics_) throw core::ConfigError(core::format("cannot write into the folder '{}'", path_));
}

void RunFolder::write(const std::string& name, const std::string& content) const {
  core::replace_file(file(name), [&](std::ostream& out) { out << content; });
}

void RunFolder::add_event_file(Hyperparameters hyperparameters, EventFile::Clock clock) {
  events_.emplace(file(EventFile::name), std::move(hyperparameters), clock);
}

void RunFolder::record(const core::Json& record) {
  // A path in a record need not be UTF-8; JSON must.
  metrics_ << record.dump(-1, ' ', false, core::Json::error_handler_t::replace) << std::endl;
  if (!metrics_) throw core::ConfigError(core::format("cannot write '{}': is the disk full?", file("metrics.jsonl")));
  if (events_) events_->add(record);
  ++records_;
}

void RunFolder::keep_records(std::size_t count) {
  std::ifstream in(file("metrics.jsonl"));
  std::string kept, line;
  std::vector<core::Json> records;
  for (records_ = 0; records_ < count && std::getline(in, line); ++records_) {
    kept += line + "\n";
    if (events_) records.push_back(core::Json::parse(line));
  }
  metrics_.close();
  write("metrics.jsonl", kept);
  metrics_.open(file("metrics.jsonl"), std::ios::app);
  if (events_) events_->replace(records);
}

}  // namespace paragrad::metrics
