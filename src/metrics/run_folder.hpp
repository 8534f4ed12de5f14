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
  enum class Existing {
    refuse,
    replace,     ///< an earlier run's files are removed
    continue_it  ///< its records stay
  };

  /// Creates the folder. Throws ConfigError if it holds a run already that may not stay, or cannot be made.
  RunFolder(std::string path, Existing existing);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a whole file beside and renames it. Throws ConfigError on a full disk; the old file is then as it was.
  void write(const std::string& name, const std::string& content) const;

  /// Appends one line to metrics.jsonl.
  void record(const core::Json& record);

  std::size_t records() const { return records_; }

  /// Drops the records behind the first `count`.
  void keep_records(std::size_t count);

 private:
  std::string path_;
  std::ofstream metrics_;
  std::size_t records_ = 0;
};

}  // namespace paragrad::metrics
