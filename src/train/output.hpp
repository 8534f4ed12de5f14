#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/json_fwd.hpp"
#include "metrics/progress.hpp"
#include "metrics/run_folder.hpp"
#include "train/state/run_identity.hpp"

namespace paragrad::train {

/// Where a training writes: worker 0 its reports, and every worker its state.
struct Output {
  metrics::RunFolder* folder = nullptr;     ///< may be null
  metrics::Progress* progress = nullptr;    ///< may be null
  std::string state_folder{};               ///< for the state needed to resume the run; "": none
  std::size_t state_every_blocks = 0;       ///< saves also at the end of each epoch; 0: never saves
  std::optional<int> resume_phase{};        ///< the training of the run whose saved state to resume; nothing: start afresh
  bool rescales = false;                    ///< a state may be resumed that another number of workers has saved
  int phase = 0;                            ///< index of this training among the run's, see phases()
  RunIdentity run{};                        ///< the run that a state belongs to
  std::function<void()> begin{};            ///< of worker 0, when the options are checked and before it writes. May be empty
  std::function<void()> while_saving{};     ///< of this worker, whenever it saves its state; may be empty
  std::function<void()> after_saving{};     ///< of worker 0, when all have saved it; may be empty
  std::function<void(int)> after_record{};  ///< of worker 0, after a record; told the complete epochs. May be empty
  std::function<void(const core::Json&)> on_record{};  ///< of worker 0, each record, also without a folder. May be empty
  std::function<void()> after_block{};                 ///< of every worker; an exception ends the training. May be empty
  bool explains = true;                                ///< prints at the beginning what the options mean
  std::optional<double> resumed_at_s{};  ///< time since the run began, even if there is no state yet; nothing: the state's
  bool last_phase = true;                ///< the network's training: writes checkpoints; state is not needed after it
  double earlier_s = 0;                  ///< seconds of the trainings before it, see Result::pretraining_s
  std::uint64_t earlier_samples = 0;
};

}  // namespace paragrad::train
