#include "app/command.hpp"
#include "app/data_imports.hpp"
#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "data/describe.hpp"
#include "data/file_format.hpp"
#include "data/generate.hpp"
#include "data/partition.hpp"
#include "data/verify.hpp"
#include "speech/synthesis/generate_speech.hpp"

namespace paragrad::app {
namespace {

void add_generate(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("generate", "generate a frame classification task of any size from a hidden Markov model");
  auto options = std::make_shared<data::GenerateOptions>();
  command->add_option("--out", options->out, "data file to write")->required();
  command->add_option("--name", options->name, "name of the data set");
  add_number(*command, "--samples", options->samples, core::one_or_more, "number of training frames");
  add_number(*command, "--valid", options->valid, core::any_count, "number of validation frames");
  add_number(*command, "--test", options->test, core::any_count, "number of test frames");
  add_number(*command, "--dim", options->dim, core::one_or_more, "number of features per frame");
  add_number(*command, "--classes", options->classes, core::any_count, "number of classes, the states of the model");
  add_number(*command, "--mixtures", options->mixtures, core::one_or_more, "number of Gaussians per state");
  add_number(*command, "--mean-duration", options->mean_duration, {.least = 1}, "average duration of a state, in frames");
  add_number(*command, "--separation", options->separation, core::zero_or_more,
             "distance between the means of the Gaussians, in standard deviations");
  add_number(*command, "--sequence-length", options->sequence_length, core::one_or_more,
             "average number of frames per sequence");
  add_number(*command, "--seed", options->seed, core::any_seed, "random seed");
  set_examples(*command, "paragrad data generate --out frames.h5 --samples 20000 --valid 2000 --test 2000");
  command->callback([options] { print_written(data::generate(*options), options->out); });
}

struct GenerateSpeechArguments {
  speech::GenerateSpeechOptions options;
  std::string train = "1h", valid = "6min", test = "6min";
  std::string context = "5+5";
};

void generate_speech(GenerateSpeechArguments& arguments, const CLI::App& parser) {
  auto& options = arguments.options;
  const auto seconds = [](const std::string& text) { return core::parse_quantity(text, core::Unit::time); };
  options.train_s = seconds(arguments.train);
  options.valid_s = seconds(arguments.valid);
  options.test_s = seconds(arguments.test);
  OptionUse use(parser);
  use.require(options.valid_s > 0 || options.test_s > 0, {"unseen-text"},
              "is for the validation and test sets: give --valid or --test");
  use.check();
  options.context = data::parse_context(arguments.context);
  const auto generated = speech::generate_speech(options);
  print_written(generated.info, options.out);
  fmt::print("a context has a class of its own where it has {} training frames or more\n", generated.least_frames);
}

void add_generate_speech(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("generate-speech", "generate speech with synthetic voices, labelled with a phone state per frame");
  auto arguments = std::make_shared<GenerateSpeechArguments>();
  auto& options = arguments->options;
  command->add_option("--text", options.text, "file of sentences to speak for training, one per line")->required();
  command->add_option("--unseen-text", options.unseen_text,
                      "file of sentences to speak for validation and test, one per line");
  command->add_option("--out", options.out, "data file to write")->required();
  command->add_option("--name", options.name, "name of the data set");
  command->add_option("--train", arguments->train, "duration of the training set, such as 1h");
  command->add_option("--valid", arguments->valid, "duration of the validation set, such as 6min");
  command->add_option("--test", arguments->test, "duration of the test set, such as 6min");
  add_words(*command, "--voices", options.voices, "voices of flite to use, such as slt,rms,awb (default: all)");
  add_number(*command, "--classes", options.classes, core::any_count,
             "maximum number of classes; states with few frames are tied");
  add_number(*command, "--bins", options.bins, {.least = 1, .most = 4096}, "number of mel filters");
  add_number(*command, "--deltas", options.deltas, {.least = 0, .most = 4},
             "orders of time derivatives of the mel features to append");
  command->add_option("--context", arguments->context,
                      "frames of context left and right of each frame that the network sees, such as 5+5");
  add_number(*command, "--jobs", options.jobs, {.least = 1, .most = 10000},
             "number of processes that synthesise speech; does not affect the data");
  add_number(*command, "--seed", options.seed, core::any_seed, "random seed");
  set_examples(
      *command,
      "paragrad data generate-speech --text text --unseen-text other-text --train 20s --valid 2s --test 2s --out voices.h5");
  command->callback([command, arguments] { generate_speech(*arguments, *command); });
}

struct PartitionArguments {
  std::string file;
  std::size_t workers = 1;
  std::size_t blocks = 0;
  std::string split_duration;
  bool utterances = false;
  std::uint64_t seed = 1;
};

void store_partition(const PartitionArguments& options) {
  const auto dataset = data::Dataset::open(options.file);
  const auto& info = dataset->info();
  if ((options.blocks > 0) == !options.split_duration.empty())
    throw core::ConfigError("a partition needs either --blocks or --split-duration: give one of them");
  const std::size_t blocks =
      options.blocks > 0
          ? options.blocks
          : data::blocks_of_duration(info, options.workers, core::parse_quantity(options.split_duration, core::Unit::time));
  const auto partition =
      options.utterances
          ? data::Partition::of_utterances(dataset->offsets(data::Subset::train), options.workers, blocks, options.seed)
          : data::Partition::random(info.samples[0], options.workers, blocks, options.seed);
  partition.store(options.file);
  std::size_t least = info.samples[0], most = 0;
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t worker = 0; worker < options.workers; ++worker) {
      const std::size_t size = partition.split_range(block, worker).size();
      least = std::min(least, size);
      most = std::max(most, size);
    }
  fmt::print("{}: stored the partition {}x{} with seed {}, {} to {} samples per split\n", core::printable(options.file),
             options.workers, blocks, options.seed, least, most);
}

void add_partition(CLI::App& data) {
  CLI::App* command = data.add_subcommand("partition", "store a random N x M partition in a data file");
  auto options = std::make_shared<PartitionArguments>();
  command->add_option("file", options->file, "data file")->required();
  add_number(*command, "--workers", options->workers, {.least = 1, .most = 10000000}, "N: splits per block")->required();
  add_number(*command, "--blocks", options->blocks, {.least = 0, .most = 100000000}, "M: number of blocks");
  command->add_option("--split-duration", options->split_duration,
                      "duration of a split, such as 22.5min, instead of --blocks; needs a data file with a frame shift");
  add_flag(*command, "--utterances", options->utterances,
           "keep utterances whole within splits, instead of drawing single samples");
  add_number(*command, "--seed", options->seed, core::any_seed, "random seed of the order");
  set_examples(*command, "paragrad data partition frames.h5 --workers 8 --blocks 5");
  command->callback([options] { store_partition(*options); });
}

void add_info(CLI::App& data) {
  CLI::App* command = data.add_subcommand("info", "describe a data file");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "data file")->required();
  set_examples(*command, "paragrad data info frames.h5");
  command->callback([file] { fmt::print("{}\n", core::text_of(data::describe(*data::Dataset::open(*file)), 2)); });
}

void add_verify(CLI::App& data) {
  CLI::App* command = data.add_subcommand("verify", "check that a data file conforms to the format, including its checksum");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "data file")->required();
  set_examples(*command, "paragrad data verify frames.h5");
  command->callback([file] {
    const auto findings = data::verify(*file);
    for (std::size_t i = 0; i + 1 < findings.size(); ++i) print_error(findings[i]);
    if (!findings.empty()) throw core::ConfigError(findings.back());
    fmt::print("{}: conforms to the format\n", core::printable(*file));
  });
}

}  // namespace

Command data_command() {
  auto parser = make_parser("data", "Make, describe and check data files (format: data/README.md).");
  parser->require_subcommand(1);
  add_import_commands(*parser);
  add_generate(*parser);
  add_generate_speech(*parser);
  add_partition(*parser);
  add_info(*parser);
  add_verify(*parser);
  parser->footer("'paragrad data COMMAND --help' lists the options of a command, with an example.");
  return {parser, [] { return success; }};
}

}  // namespace paragrad::app
