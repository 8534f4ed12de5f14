#include "predict/simulation_arguments.hpp"

#include <string>

#include "core/format.hpp"

namespace paragrad::predict {

void SimulationArguments::describe(core::OptionList& list) {
  const bool computes = training.options.computes;
  const char* const only_timed = "needs `device` meta (a timing run)";
  training.describe(list);
  {
    list.group("Timing runs (--device meta)");
    const auto condition = list.only_when(!computes, only_timed);
    const std::array<std::string, 2> names{"train-samples", "valid-samples"}, sets{"training", "validation"};
    for (std::size_t i = 0; i < names.size(); ++i)
      list.number(names[i], imaginary_samples[i], core::any_count,
                  core::format("number of {} samples, for timing without `data`", sets[i]));
    list.number("max-steps", training.options.max_steps, core::any_count,
                "number of minibatches to time in each block (0: all)")
        .off("0");
  }
  world.describe(list, false);
  list.described("fast-collectives").when(!computes, only_timed);
  list.parsed<worlds::GivenRate>(
          "device-rate", world.device_rate, worlds::parse_rate, core::format("{}", world.device_rate.samples_per_s),
          "known training rate of a single device in samples per second (0: as the platform says, or else its roofline); or "
          "two, each at a minibatch, from which a constant cost of each step follows (357@50,700@400)")
      .of_numbers(core::describe(worlds::device_rates));
}

}  // namespace paragrad::predict
