#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "train/train.hpp"
#include "worlds/instruments.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::runs {

/// The option that `launch` gives to a training unless its user has.
inline constexpr const char* saving_option = "checkpoint-every";

/// Options that `train` and `simulate` share.
struct TrainingArguments {
  train::TrainingOptions options;
  int gradient_bits = 32;  // any other number sets the strategy's compression
  std::string device = "cpu";
  int workers_per_node = 0;  // 0: as detected by the transport
  std::string out;
  bool overwrite = false;
  bool quiet = false;
  bool tensorboard = false;
  std::size_t checkpoint_every = 0;
  bool resume = false;
  bool rescale = false;
  std::string record;  // "": in the run folder; "none": no file
  std::string replay;
  worlds::InstrumentArguments instruments;
  bool is_kept = true;  ///< otherwise it is only timed, without a run folder, and has no option of one

  void describe(core::OptionList& list);

 private:
  void describe_run(core::OptionList& list);
};

/// Adds the options of a command that trains.
template <class Arguments>
void add_training_options(CLI::App& parser, Arguments& arguments) {
  cli::accept_config_file(parser);
  cli::add_options(parser, arguments);
  worlds::check_activations(*parser.get_option("--model"));
}

/// Checks the options together, and settles those that can be given in several forms. Throws ConfigError.
void resolve(TrainingArguments& arguments);

/// Throws as OptionUse::check() does, and leaves in the arguments only the settings that have an effect.
void settle(const cli::OptionUse& use, TrainingArguments& arguments);

/// Where no learning rate was given, in either unit, the optimiser's customary one; a run that goes on with another number
/// of workers may have had another. Throws ConfigError if the network is to be trained and there is none.
void require_learning_rate(TrainingArguments& arguments);

/// The options for config.toml, with a learning rate that was not given.
std::string config_of(const cli::OptionUse& use, const train::TrainingOptions& options);

/// Samples in all epochs, including pretraining.
std::uint64_t samples_to_train(const train::TrainingOptions& options, const train::TrainingData& source);

}  // namespace paragrad::runs
