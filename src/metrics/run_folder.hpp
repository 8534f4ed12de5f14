#pragma once

#include <fstream>
#include <string>

#include "core/json.hpp"

namespace paragrad::metrics {

/// The folder of one run: config.toml (feeding it back repeats the run), manifest.json (what it ran on), metrics.jsonl (one
/// record per sweep and a last one for the result), checkpoint.h5 (written by train), timeline.json where one was asked for.
/// Written by worker 0 alone.
class RunFolder {
 public:
  /// Creates the folder, emptied of an earlier run's files if `overwrite`. Throws ConfigError if it holds a run already or
  /// cannot be made.
  RunFolder(std::string path, bool overwrite);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a whole file beside and renames it. Throws ConfigError on a full disk; the old file is then as it was.
  void write(const std::string& name, const std::string& content) const;

  /// Appends one line to metrics.jsonl.
  void record(const core::Json& record);

 private:
  std::string path_;
  std::ofstream metrics_;
};

}  // namespace paragrad::metrics
