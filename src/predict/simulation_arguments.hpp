#pragma once

#include <array>
#include <cstddef>

#include "core/options.hpp"
#include "runs/training.hpp"
#include "worlds/sim_world.hpp"

namespace paragrad::predict {

/// The options of `paragrad simulate`.
struct SimulationArguments {
  runs::TrainingArguments training;
  worlds::SimWorldArguments world;
  std::array<std::size_t, 3> imaginary_samples{};

  void describe(core::OptionList& list);
};

}  // namespace paragrad::predict
