#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

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

  /// Reads and settles the words of a command line of `simulate` that are to be timed only: without --device, --platform and
  /// a run folder. Throws ConfigError.
  void read_to_time(std::vector<std::string> words);
};

}  // namespace paragrad::predict
