#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/state_view.hpp"
#include "train/learners/learner.hpp"

namespace paragrad::train {

/// The best model so far, by any criterion. Worker 0 keeps the parameters for all; every worker keeps the score.
struct BestModel {
  Score score{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<float> parameters;

  void describe_state(core::StateView& state) {
    state.add("loss", score.loss, core::Rescale::equal);
    state.add("error", score.error, core::Rescale::equal);
    state.add("parameters", parameters, core::Rescale::equal);
  }
};

}  // namespace paragrad::train
