#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/flat_toml.hpp"
#include "core/json.hpp"
#include "metrics/run_folder.hpp"

namespace paragrad::runs {

/// The run folder of a command that measures or predicts, a record per line of its table.
class MeasurementFolder {
 public:
  /// out: the folder; empty: nothing is written. Throws ConfigError if it exists, unless it may be overwritten, and for a
  /// value that is not UTF-8.
  MeasurementFolder(const std::string& out, bool overwrite, const std::string& config, core::Json manifest)
      : manifest_(std::move(manifest)) {
    if (out.empty()) return;
    cli::require_utf8(config);
    using Existing = metrics::RunFolder::Existing;
    folder_.emplace(out, overwrite ? Existing::replace : Existing::refuse);
    folder_->write("config.toml", config);
    write_manifest();
  }

  bool is_empty() const { return records_.empty(); }

  void add(core::Json record) {
    records_.push_back(std::move(record));
    if (folder_) folder_->record(records_.back());
  }

  /// Completes the manifest: a single record is under "result", as for a training, and several are a list there.
  /// finished: about the command itself.
  void finish(const core::Json& finished) {
    if (!folder_) return;
    manifest_["finished"] = finished;
    manifest_["result"] = records_.size() == 1 ? records_[0] : core::Json{{"measurements", records_}};
    write_manifest();
  }

 private:
  void write_manifest() { folder_->write("manifest.json", core::text_of(manifest_, 2) + "\n"); }

  core::Json manifest_;
  std::optional<metrics::RunFolder> folder_;
  std::vector<core::Json> records_;
};

}  // namespace paragrad::runs
