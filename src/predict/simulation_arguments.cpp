#include "predict/simulation_arguments.hpp"

#include <string>

#include "cli/command.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::predict {

void SimulationArguments::read_to_time(std::vector<std::string> words) {
  training.device = "meta", training.is_kept = false;
  world.needs_platform = false;
  const auto parser = cli::make_parser("simulate", "");
  runs::add_training_options(*parser, *this);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  if (cli::parse(*parser, pointers)) throw core::ConfigError("--help is no option of a training");
  runs::resolve(training);
  training.options.computes = false;
  runs::settle(cli::use_of(*parser, *this), training);
  training.options.schedule.initial_rate = 1;  // unused
}

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
