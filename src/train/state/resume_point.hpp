#pragma once

#include "core/state_view.hpp"

namespace paragrad::train {

/// Where a training stands; numbers as a StateView holds them.
struct ResumePoint {
  double epoch = 1;
  double block = 0;  // of the epoch, the next to be trained
  double minibatch = 0;
  double started = 0;  // the strategy: 0 or 1
  double samples = 0;
  double elapsed_s = 0;
  double earlier_s = 0;  // of the run's trainings before this one, and what they processed
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
