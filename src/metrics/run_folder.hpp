#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "metrics/event_file.hpp"
#include "system/folder_lock.hpp"
#include "system/output_file.hpp"

namespace paragrad::metrics {

/// The folder of one run: config.toml (passing it back repeats the run), manifest.json (what it ran on), metrics.jsonl (one
/// record per epoch and a final one for the result), checkpoint.h5 (written by train), and on request timeline.json and an
/// event file for TensorBoard. Written by worker 0 only, whose process locks the folder.
///
/// An earlier run stays unchanged until begin(): a command that is refused for its options has removed nothing.
class RunFolder {
 public:
  enum class Existing {
    refuse,
    replace,     ///< begin() removes an earlier run's files
    continue_it  ///< its records stay
  };

  /// A position in metrics.jsonl: the number of records before it, and their checksum.
  struct Mark {
    std::size_t records = 0;
    std::string sha256;
  };

  /// Creates the folder. Throws ConfigError if it already contains a run that may not be removed or a search, is in use by
  /// another process, or cannot be made. A run that ended before its first record and checkpoint may always be removed.
  RunFolder(std::string path, Existing existing);
  /// The same for a folder that is already locked.
  RunFolder(system::FolderLock lock, std::string path, Existing existing);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Removes an earlier run and writes the files that were waiting. The first record calls it, too; later calls, and those
  /// for a run that is continued, do nothing. Throws ConfigError.
  void begin();

  /// Writes a whole file under a temporary name and renames it; before begin(), the file waits for that. Throws ConfigError
  /// on a full disk and leaves the old file unchanged.
  void write(const std::string& name, const std::string& content);

  /// Writes records for TensorBoard, too, from begin(). An existing event file is not continued: keep_records() rewrites it.
  void add_event_file(Hyperparameters hyperparameters, EventFile::Clock clock);

  /// Appends one line to metrics.jsonl, and an event to the event file.
  void record(const core::Json& record);

  std::size_t records() const { return mark_.records; }

  /// Flushes the records and their events to disk and returns the current position. Throws ConfigError.
  Mark sync();

  /// Drops the records after `mark`. Throws ConfigError, and changes nothing, if the records before it are missing or differ
  /// from what was written.
  void keep_records(const Mark& mark);

 private:
  bool holds_results() const;
  void open(system::OutputFile::Begin begin);

  system::FolderLock lock_;
  std::string path_;
  bool begun_ = false;
  std::vector<std::function<void(RunFolder&)>> waiting_;  // for begin()
  system::OutputFile metrics_;
  std::optional<EventFile> events_;
  Mark mark_;
  std::size_t synced_ = 0;  // records
};

}  // namespace paragrad::metrics
