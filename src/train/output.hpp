#pragma once

#include <cstddef>
#include <string>

#include "metrics/progress.hpp"
#include "metrics/run_folder.hpp"

namespace paragrad::train {

/// Where a training reports to: worker 0, and every worker its state.
struct Output {
  metrics::RunFolder* folder = nullptr;   ///< may be null
  metrics::Progress* progress = nullptr;  ///< may be null
  std::string state_folder{};             ///< for what is needed to take the run up again; "": nowhere
  std::size_t state_every_blocks = 0;     ///< besides at the end of each sweep; 0: never, there neither
  bool resume = false;                    ///< go on from what is in state_folder, if there is anything
  int phase = 0;                          ///< which of the run's trainings it is, see phases()
  bool last_phase = true;                 ///< the network's: writes checkpoints, and the state can go at its end
};

}  // namespace paragrad::train
