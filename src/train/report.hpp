#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/state_view.hpp"
#include "strategies/strategy.hpp"
#include "train/input/training_data.hpp"
#include "train/learners/learner.hpp"
#include "train/output.hpp"
#include "train/result.hpp"
#include "train/training_options.hpp"

namespace paragrad::train {

/// Reports a training to the run's folder and to the progress display. Silent on all workers but the first.
class Report {
 public:
  Report(const Output& output, bool speaks)
      : folder_(speaks ? output.folder : nullptr), progress_(speaks ? output.progress : nullptr) {
    if (speaks) on_record_ = output.on_record;
  }

  bool has_folder() const { return folder_ != nullptr; }
  bool is_recorded() const { return has_folder() || on_record_; }
  bool is_watched() const { return progress_ != nullptr; }

  void say(const std::string& line) const {
    if (is_watched() && !line.empty()) progress_->say(line);
  }
  void advance(std::uint64_t samples, const std::string& position) const {
    if (is_watched()) progress_->advance(samples, position);
  }

  /// Adds the numbers to the result, and prints the lines; of a run that does not compute only those about the collective.
  void take_down(const strategies::Remarks& remarks, bool computes, Result& result) const;

  struct Epoch {
    int number = 1;
    double rate = 0;
    std::size_t minibatch = 0;
    double time_s = 0;       ///< since the beginning of the training
    std::size_t blocks = 0;  ///< done in the epoch; 0: all
  };
  /// result: scores and samples so far. times: since the beginning; reported as the difference to the last epoch. traffic:
  /// since the last call.
  void tell(const Epoch& epoch, const Learner& learner, const Result& result, const TimeBreakdown& times,
            const TrafficSummary& traffic);

  /// Writes the complete model as the folder's checkpoint.
  void write_checkpoint(const TrainingOptions& options, const TrainingData& source, int epochs,
                        std::vector<float> model) const;

  void describe_state(core::StateView& state) { told_.describe_state(state); }

 private:
  metrics::RunFolder* folder_;
  metrics::Progress* progress_;
  std::function<void(const core::Json&)> on_record_;
  TimeBreakdown told_;  // reported so far
};

}  // namespace paragrad::train
