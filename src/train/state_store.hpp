#pragma once

#include <optional>
#include <string>

#include "comm/worker.hpp"
#include "train/saved_state.hpp"

namespace paragrad::train {

/// Where a run keeps what it needs to be taken up again: `FOLDER/NAME/worker-RANK.h5`, a file per worker, and
/// `FOLDER/latest.json`, which names the last set that is complete. Killed at any time, one complete set is left.
/// All workers reach the same folder.
class StateStore {
 public:
  StateStore(comm::Worker& worker, std::string folder) : worker_(worker), folder_(std::move(folder)) {}

  /// Whether there is something to take up; the same on every worker.
  static bool exists(const std::string& folder);

  /// The phase of the run that it belongs to; 0 where nothing can be taken up.
  static int phase_in(const std::string& folder);

  /// Collective. name: of the set, new each time. Throws ConfigError, the set before being as it was.
  void save(const SavedState& state, const std::string& name, int phase);

  /// This worker's state in the last complete set. Collective. Throws ConfigError: a damaged file, another number of
  /// workers.
  SavedState load();

  /// The run is complete: removes all. Collective.
  void clear();

 private:
  std::string file_of(const std::string& name) const;
  void point_to(const std::string& name, int phase) const;
  std::string latest() const;

  comm::Worker& worker_;
  std::string folder_;
};

}  // namespace paragrad::train
