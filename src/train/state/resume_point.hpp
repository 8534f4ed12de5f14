#pragma once

#include "core/state_view.hpp"

namespace paragrad::train {

/// How far a training has got; all values are doubles, as in a StateView.
struct ResumePoint {
  double epoch = 1;
  double block = 0;  // the next block of the epoch to train
  double minibatch = 0;
  double started = 0;  // 1 if the strategy has started, else 0
  double samples = 0;
  double elapsed_s = 0;
  double earlier_s = 0;  // seconds and samples of the run's earlier trainings
  double earlier_samples = 0;

  void describe_state(core::StateView& state) {
    state.add("resume_point/epoch", epoch);
    state.add("resume_point/block", block);
    state.add("resume_point/minibatch", minibatch);
    state.add("resume_point/started", started);
    state.add("resume_point/samples", samples);
    state.add("resume_point/elapsed_s", elapsed_s);
    state.add("resume_point/earlier_s", earlier_s);
    state.add("resume_point/earlier_samples", earlier_samples);
  }
};

}  // namespace paragrad::train
