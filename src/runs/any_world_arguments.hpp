#pragma once

#include "runs/training.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::runs {

/// What a training can be given in either world. The two commands add options of their own, which have no marks that runs
/// are compared by.
struct AnyWorldArguments {
  TrainingArguments training;
  worlds::SimWorldArguments world;

  void describe(core::OptionList& list) {
    training.describe(list);
    world.describe(list, false);
  }
};

}  // namespace paragrad::runs
