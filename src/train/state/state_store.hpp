#pragma once

#include <optional>
#include <string>

#include "comm/worker.hpp"
#include "metrics/run_folder.hpp"
#include "train/state/run_identity.hpp"
#include "train/state/saved_state.hpp"

namespace paragrad::train {

/// Where a run keeps what it needs to be resumed: `FOLDER/NAME/worker-RANK.h5`, a file per worker, and `FOLDER/latest.json`,
/// which names the last set that is complete, the run that it belongs to, and how far the run's records had got.
/// Killed at any time, one complete set is left. All workers reach the same folder.
class StateStore {
 public:
  /// records: of the run, at worker 0; may be null.
  StateStore(comm::Worker& worker, std::string folder, RunIdentity run, metrics::RunFolder* records)
      : worker_(worker), folder_(std::move(folder)), run_(std::move(run)), records_(records) {}

  /// The training of the run that its last complete set belongs to; nothing where there is none. Throws ConfigError for a
  /// damaged latest.json.
  static std::optional<int> saved_phase(const std::string& folder);

  /// Whose state it is. Throws ConfigError where there is none, or latest.json is damaged.
  static RunIdentity saved_run(const std::string& folder);

  /// Collective. name: of the set, new each time. Throws ConfigError; the last complete set is then as it was.
  void save(const SavedState& state, const std::string& name, int phase);

  /// This worker's state in the last complete set; records after it are dropped. Collective. Throws ConfigError, the same at
  /// all workers: a damaged file, one of another run, set or worker, another number of workers, records that are gone.
  SavedState load();

  /// After a run that is complete: removes all, or at least what makes it a state. Throws ConfigError; the state is then as
  /// it was.
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
