#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "metrics/progress.hpp"
#include "metrics/run_folder.hpp"
#include "train/state/run_identity.hpp"

namespace paragrad::train {

/// Where a training reports to: worker 0, and every worker its state.
struct Output {
  metrics::RunFolder* folder = nullptr;   ///< may be null
  metrics::Progress* progress = nullptr;  ///< may be null
  std::string state_folder{};             ///< for what is needed to resume the run; "": nowhere
  std::size_t state_every_blocks = 0;     ///< besides at the end of each epoch; 0: never, there neither
  std::optional<int> resume_phase{};      ///< go on from the state that this training of the run left; nothing: start
  int phase = 0;                          ///< which of the run's trainings it is, see phases()
  RunIdentity run{};                      ///< that a state belongs to
  bool last_phase = true;                 ///< the network's: writes checkpoints, and the state can go at its end
  double earlier_s = 0;                   ///< of the trainings before it, as a Result's pretraining_s
  std::uint64_t earlier_samples = 0;
};

}  // namespace paragrad::train
