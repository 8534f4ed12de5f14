#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/learners/learner.hpp"
#include "train/time_breakdown.hpp"
#include "train/traffic_account.hpp"

namespace paragrad::train {

/// The result of a training.
struct Result {
  bool timing_only = false;       ///< the device does not compute: times and counts only, no scores or model
  std::string parameters_sha256;  ///< of the final model; worker 0 only
  Score train;                    ///< of the last epoch, accumulated during training
  Score valid;
  Score test;
  TimeBreakdown times;        ///< of worker 0, all epochs
  double training_s = 0;      ///< from the first minibatch to the last validation
  TrafficSummary traffic;     ///< of all epochs
  double data_wait_s = 0;     ///< wall-clock time that worker 0 waited for the loader, whatever the run's clock
  std::uint64_t samples = 0;  ///< processed by all workers
  double pretraining_s = 0;   ///< seconds of the pretraining before it
  std::uint64_t pretraining_samples = 0;
  std::vector<float> model;                              ///< only if another training of the run follows
  int epochs = 0;                                        ///< trained
  std::vector<std::pair<std::string, double>> strategy;  ///< the strategy's numbers about the run, before and after it
};

}  // namespace paragrad::train
