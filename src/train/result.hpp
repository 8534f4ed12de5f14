#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/learners/learner.hpp"
#include "train/time_breakdown.hpp"

namespace paragrad::train {

/// What came of a training.
struct Result {
  bool timing_only = false;       ///< the device does not compute: times and counts, no scores and no model
  std::string parameters_sha256;  ///< of the final model; worker 0 only
  Score train;                    ///< of the last epoch, as met during training
  Score valid;
  Score test;
  TimeBreakdown times;        ///< of worker 0, all epochs
  double training_s = 0;      ///< from the first minibatch to the last validation
  double data_wait_s = 0;     ///< wall-clock time that worker 0 waited for the loader, whatever the run's clock
  std::uint64_t samples = 0;  ///< processed by all workers
  double pretraining_s = 0;   ///< before that
  std::uint64_t pretraining_samples = 0;
  std::vector<float> model;                              ///< of a training that another of the run follows
  int epochs = 0;                                        ///< that were trained
  std::vector<std::pair<std::string, double>> strategy;  ///< what the strategy says of the run, before it and after it
};

}  // namespace paragrad::train
