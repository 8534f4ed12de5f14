#pragma once

#include <optional>
#include <string>

#include "runs/training.hpp"
#include "train/state/progress_file.hpp"

namespace paragrad::runs {

/// What an interrupted training leaves behind.
struct SavedSoFar {
  int epochs = 0;                           ///< recorded
  std::optional<train::RunPosition> state;  ///< from which it can be resumed
  bool pretrains = false;                   ///< the state is one of pretraining
  bool resumes = true;                      ///< false: a state is not enough, as the clock of a failing cluster is not saved
};

/// "interrupted: the state after epoch 2 is saved in runs/a; the same command with --resume continues the run"
std::string interruption_sentence(const TrainingArguments& arguments, const SavedSoFar& saved);

/// What is trained at a position: "epoch 2", "block 3 of epoch 2".
std::string position_text(const train::RunPosition& position);

}  // namespace paragrad::runs
