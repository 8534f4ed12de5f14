#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "core/folder_lock.hpp"
#include "core/json.hpp"
#include "metrics/event_file.hpp"

namespace paragrad::metrics {

/// The folder of one run: config.toml (feeding it back repeats the run), manifest.json (what it ran on), metrics.jsonl (one
/// record per epoch and a last one for the result), checkpoint.h5 (written by train), timeline.json and an
/// event file for TensorBoard where they were asked for. Written by worker 0 alone, whose process has the folder for itself.
class RunFolder {
 public:
  enum class Existing {
    refuse,
    replace,     ///< an earlier run's files are removed
    continue_it  ///< its records stay
  };

  /// How far metrics.jsonl has got: its first records, and a checksum of them.
  struct Mark {
    std::size_t records = 0;
    std::string sha256;
  };

  /// Creates the folder. Throws ConfigError if it already contains a run that may not stay, is in use by another process, or
  /// cannot be made.
  RunFolder(std::string path, Existing existing);
  /// The same where the folder is locked already.
  RunFolder(core::FolderLock lock, std::string path, Existing existing);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a whole file beside and renames it. Throws ConfigError on a full disk; the old file is then as it was.
  void write(const std::string& name, const std::string& content) const;

  /// Has records told to TensorBoard, too. An event file that was there before is not continued: keep_records() writes it
  /// anew.
  void add_event_file(Hyperparameters hyperparameters, EventFile::Clock clock);

  /// Appends one line to metrics.jsonl, and an event to the event file.
  void record(const core::Json& record);

  std::size_t records() const { return mark_.records; }

  /// Forces the records to the disk, and returns how far they have got. Throws ConfigError.
  Mark sync();

  /// Drops the records after those of `mark`. Throws ConfigError if they are not there, or not those that were written;
  /// nothing is changed then.
  void keep_records(const Mark& mark);

 private:
  core::FolderLock lock_;
  std::string path_;
  std::ofstream metrics_;
  std::optional<EventFile> events_;
  Mark mark_;
  std::size_t synced_ = 0;  // records
};

}  // namespace paragrad::metrics
