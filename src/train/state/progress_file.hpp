#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace paragrad::train {

/// A place in a run.
struct RunPosition {
  int phase = 0;  ///< index of the training among the run's
  int epoch = 1;
  std::size_t block = 0;   ///< done in the epoch
  std::size_t blocks = 1;  ///< in the epoch
};

/// Notes how far a run has got since its last saved state, in a file of the state's folder that is overwritten after each
/// block. It is not synchronised, and resuming does not need it. Throws ConfigError.
void note_position(const std::string& state_folder, const RunPosition& position);

/// What an interrupted run has to do again.
struct LostWork {
  RunPosition from;        ///< its last saved state, or the beginning of the phase that it had reached
  std::size_t blocks = 0;  ///< completed since then
};

/// Nothing if it is not known. Throws ConfigError if the state is damaged.
std::optional<LostWork> lost_work(const std::string& state_folder);

}  // namespace paragrad::train
