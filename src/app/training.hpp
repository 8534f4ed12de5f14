#pragma once

#include <string>

#include "app/command.hpp"
#include "app/instruments.hpp"
#include "train/train.hpp"

namespace paragrad::app {

/// Options that `train` and `simulate` share.
struct TrainingArguments {
  train::TrainingOptions options;
  double lr_per_sample = 0;  // 0: the learning rate is given as options.schedule.initial_rate
  std::string block_momentum = "auto";
  int gradient_bits = 32;  // another number: of options.strategy_options.compression
  std::string quantise_threshold = "zero";
  std::string device = "cpu";
  int workers_per_node = 0;  // 0: as the transport finds them
  std::string out;
  bool overwrite = false;
  bool quiet = false;
  bool tensorboard = false;
  std::size_t checkpoint_every = 0;
  bool resume = false;
  std::string work = "queue";  // or "own"
  std::string record;          // "": in the run folder; "none": nowhere
  std::string replay;
  InstrumentArguments instruments;
};

void add_training_options(CLI::App& parser, TrainingArguments& arguments);

/// Completes and checks what the parser cannot: numbers written as "auto", names from catalogues. Throws ConfigError.
void resolve(TrainingArguments& arguments);

/// Throws ConfigError where none was given, in either unit, and the network is trained.
void require_learning_rate(train::TrainingOptions& options);

/// Samples of all epochs, those of pretraining among them.
std::uint64_t samples_to_train(const train::TrainingOptions& options, const train::TrainingData& source);

}  // namespace paragrad::app
