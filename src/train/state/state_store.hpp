#pragma once

#include <optional>
#include <string>

#include "comm/worker.hpp"
#include "metrics/run_folder.hpp"
#include "train/state/progress_file.hpp"
#include "train/state/run_identity.hpp"
#include "train/state/saved_state.hpp"

namespace paragrad::train {

/// Stores everything needed to resume a run: `FOLDER/NAME/worker-RANK.h5`, one file per worker, and `FOLDER/latest.json`,
/// which names the last complete set, the run it belongs to, and how far the run's records had got. If the run is killed at
/// any time, one complete set remains. All workers share the folder.
class StateStore {
 public:
  /// records: the run's records, at worker 0; may be null.
  StateStore(comm::Worker& worker, std::string folder, RunIdentity run, metrics::RunFolder* records)
      : worker_(worker), folder_(std::move(folder)), run_(std::move(run)), records_(records) {}

  /// The training of the run that the last complete set belongs to; nothing if there is no set. Throws ConfigError if
  /// latest.json is damaged.
  static std::optional<int> saved_phase(const std::string& folder);

  /// Where a run goes on from the last complete set; nothing if there is none. Throws as saved_phase() does.
  static std::optional<RunPosition> saved_position(const std::string& folder);

  /// The run that the state belongs to. Throws ConfigError if there is no state or latest.json is damaged.
  static RunIdentity saved_run(const std::string& folder);

  /// Collective. at: another place than that of the last set. Throws ConfigError; the last complete set is then unchanged.
  void save(const SavedState& state, const RunPosition& at);

  /// Loads this worker's state from the last complete set; later records are dropped. Collective. Throws ConfigError, the
  /// same on all workers: a damaged file, a file of another run, set or worker, a different number of workers, missing
  /// records.
  SavedState load();

  /// After a complete run: removes everything, or at least latest.json. Throws ConfigError; the state is then unchanged.
  static void remove(const std::string& folder);

 private:
  std::string file_of(const std::string& name) const;
  StateOwner owner_in(const std::string& name) const { return {run_.sha256(), name, worker_.rank(), worker_.size()}; }
  void point_to(const std::string& name, int phase) const;

  comm::Worker& worker_;
  std::string folder_;
  RunIdentity run_;
  metrics::RunFolder* records_;
};

}  // namespace paragrad::train
