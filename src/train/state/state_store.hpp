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
  /// records: the run's records, at worker 0; may be null. rescales: loads a state of another number of workers, too.
  StateStore(comm::Worker& worker, std::string folder, RunIdentity run, metrics::RunFolder* records, bool rescales = false)
      : worker_(worker), folder_(std::move(folder)), run_(std::move(run)), records_(records), rescales_(rescales) {}

  /// The training of the run that the last complete set belongs to; nothing if there is no set. Throws ConfigError if
  /// latest.json is damaged.
  static std::optional<int> saved_phase(const std::string& folder);

  /// Where a run goes on from the last complete set; nothing if there is none. Throws as saved_phase() does.
  static std::optional<RunPosition> saved_position(const std::string& folder);

  /// The number of workers that saved the last complete set; 0: there is none. Throws as saved_phase() does.
  static int saved_workers(const std::string& folder);

  /// The run that the state belongs to. Throws ConfigError if there is no state or latest.json is damaged.
  static RunIdentity saved_run(const std::string& folder);

  /// Collective. at: another place than that of the last set. Throws ConfigError; the last complete set is then unchanged.
  void save(const SavedState& state, const RunPosition& at);

  /// Loads this worker's state from the last complete set, or worker 0's if another number of workers has saved it; later
  /// records are dropped. Collective. Throws ConfigError, the same on all workers: a damaged file, a file of another run,
  /// set or worker, another number of workers without `rescales`, missing records.
  SavedState load();

  /// What load() has found.
  int loaded_workers() const { return loaded_.workers; }

  /// Restores what load() has returned, rescaled if another number of workers has saved it. Collective. Throws ConfigError,
  /// the same on all workers.
  void restore(const SavedState& loaded, const core::StateView& state);

  /// After a complete run: removes everything, or at least latest.json. Throws ConfigError; the state is then unchanged.
  static void remove(const std::string& folder);

 private:
  std::string file_of(const std::string& name, int worker) const;
  StateOwner owner_in(const std::string& name) const { return {run_.sha256(), name, worker_.rank(), worker_.size()}; }
  SavedState read(int worker) const;
  void point_to(const std::string& name, int phase) const;

  comm::Worker& worker_;
  std::string folder_;
  RunIdentity run_;
  metrics::RunFolder* records_;
  bool rescales_;
  StateOwner loaded_;  // of the set that load() has found; its worker means nothing
};

}  // namespace paragrad::train
