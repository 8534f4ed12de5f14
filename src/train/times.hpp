#pragma once

#include "core/state.hpp"

namespace paragrad::train {

/// Seconds of one worker (wall-clock or virtual) by what it did, as in Table 4 of the BMUF slides.
struct PhaseTimes {
  double optimise_s = 0;   ///< minibatches
  double aggregate_s = 0;  ///< agreeing with the others, waiting for them included
  double validate_s = 0;
  double data_s = 0;  ///< waiting for samples, between the blocks

  void describe_state(core::State& state) {
    state.add("optimise_s", optimise_s);
    state.add("aggregate_s", aggregate_s);
    state.add("validate_s", validate_s);
    state.add("data_s", data_s);
  }
};

}  // namespace paragrad::train
