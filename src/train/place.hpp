#pragma once

#include "core/state.hpp"

namespace paragrad::train {

/// Where a training stands; numbers as a State knows them.
struct Place {
  double sweep = 1;
  double block = 0;  // of the sweep, the next to be trained
  double minibatch = 0;
  double started = 0;  // the strategy: 0 or 1
  double samples = 0;
  double elapsed_s = 0;
  double earlier_s = 0;  // of the run's trainings before this one, and what they processed
  double earlier_samples = 0;

  void describe_state(core::State& state) {
    state.add("place/sweep", sweep);
    state.add("place/block", block);
    state.add("place/minibatch", minibatch);
    state.add("place/started", started);
    state.add("place/samples", samples);
    state.add("place/elapsed_s", elapsed_s);
    state.add("place/earlier_s", earlier_s);
    state.add("place/earlier_samples", earlier_samples);
  }
};

}  // namespace paragrad::train
