#include "app/commands.hpp"
#include "app/data_imports.hpp"
#include "cli/described_options.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "data/describe.hpp"
#include "data/file_format.hpp"
#include "data/generate.hpp"
#include "data/partitioning.hpp"
#include "data/verify.hpp"
#include "speech/synthesis/generate_speech.hpp"

namespace paragrad::app {
namespace {

void add_generate(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("generate", "generate a frame classification task of any size from a hidden Markov model");
  auto options = std::make_shared<data::GenerateOptions>();
  cli::add_options(*command, *options);
  cli::set_examples(*command, "paragrad data generate --out frames.h5 --samples 20000 --valid 2000 --test 2000");
  command->callback([command, options] {
    cli::use_of(*command, *options).check();
    print_written(data::generate(*options), options->out);
  });
}

void add_generate_speech(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("generate-speech", "generate speech with synthetic voices, labelled with a phone state per frame");
  auto options = std::make_shared<speech::GenerateSpeechOptions>();
  cli::add_options(*command, *options);
  cli::set_examples(
      *command,
      "paragrad data generate-speech --text text --unseen-text other-text --train 20s --valid 2s --test 2s --out voices.h5");
  command->callback([command, options] {
    cli::use_of(*command, *options).check();
    const auto generated = speech::generate_speech(*options);
    print_written(generated.info, options->out);
    fmt::print("a context has a class of its own where it has {} training frames or more\n", generated.least_frames);
  });
}

struct PartitionArguments {
  std::string file;
  std::size_t workers = 1;
  std::size_t blocks = 0;
  double split_s = 0;
  std::string kind = std::string(data::random_kind);
  bool utterances = false;
  std::uint64_t seed = 1;

  void describe(core::OptionList& list) {
    list.argument("file", file, "data file").path().required();
    list.number("workers", workers, {.least = 1, .most = 10000000}, "N: splits per block").required();
    list.number("blocks", blocks, {.least = 0, .most = 100000000}, "M: number of blocks");
    list.quantity("split-duration", split_s, core::Unit::time,
                  "duration of a split, such as 22.5min, instead of `blocks`; needs a data file with a frame shift")
        .without_default()
        .when(blocks == 0, "cannot be combined with `blocks`: give one of them");
    list.entry("partition", kind, data::partitioner_catalogue,
               "how the samples are divided among workers, which may differ in their data")
        .expand([](const std::string& kind) { return data::settled_kind(kind); });
    list.flag("utterances", utterances, "keep utterances whole within splits, instead of drawing single samples");
    list.number("seed", seed, core::any_seed, "random seed of the order");
  }
};

void store_partition(const PartitionArguments& options) {
  const auto dataset = data::Dataset::open(options.file);
  const auto& info = dataset->info();
  if (info.vocabulary)
    throw core::ConfigError(
        core::format("'{}' holds a text, whose windows depend on the model: they are divided when training "
                     "starts, and no partition is stored",
                     options.file));
  if ((options.blocks > 0) == (options.split_s > 0))
    throw core::ConfigError("a partition needs either --blocks or --split-duration: give one of them");
  const std::size_t blocks =
      options.blocks > 0 ? options.blocks : data::blocks_of_duration(info, options.workers, options.split_s);
  const data::PartitionUnits units =
      options.utterances ? data::PartitionUnits::of_utterances(*dataset) : data::PartitionUnits::of_samples(*dataset);
  const data::Partition partition = data::divide(units, options.kind, options.workers, blocks, options.seed);
  partition.store(options.file);
  const data::PartitionSpread spread = data::spread_of(partition, dataset.get());
  fmt::print("{}: stored the partition {}x{} with seed {}{}, {} to {} samples per split\n", core::printable(options.file),
             options.workers, blocks, options.seed,
             partition.kind() == data::random_kind ? "" : core::format(", {}", partition.kind()), spread.least_of_split,
             spread.most_of_split);
  if (partition.kind() != data::random_kind) fmt::print("{}\n", data::describe(spread));
}

void add_partition(CLI::App& data) {
  CLI::App* command = data.add_subcommand("partition", "store an N x M partition in a data file");
  auto options = std::make_shared<PartitionArguments>();
  cli::add_options(*command, *options);
  cli::set_examples(*command, "paragrad data partition frames.h5 --workers 8 --blocks 5");
  command->callback([command, options] {
    cli::use_of(*command, *options).check();
    store_partition(*options);
  });
}

struct FileArguments {
  std::string file;

  void describe(core::OptionList& list) { list.argument("file", file, "data file").path().required(); }
};

void add_info(CLI::App& data) {
  CLI::App* command = data.add_subcommand("info", "describe a data file");
  auto arguments = std::make_shared<FileArguments>();
  cli::add_options(*command, *arguments);
  cli::set_examples(*command, "paragrad data info frames.h5");
  command->callback(
      [arguments] { fmt::print("{}\n", core::text_of(data::describe(*data::Dataset::open(arguments->file)), 2)); });
}

void add_verify(CLI::App& data) {
  CLI::App* command = data.add_subcommand("verify", "check that a data file conforms to the format, including its checksum");
  auto arguments = std::make_shared<FileArguments>();
  cli::add_options(*command, *arguments);
  cli::set_examples(*command, "paragrad data verify frames.h5");
  command->callback([arguments] {
    const auto findings = data::verify(arguments->file);
    for (std::size_t i = 0; i + 1 < findings.size(); ++i) cli::print_error(findings[i]);
    if (!findings.empty()) throw core::ConfigError(findings.back());
    fmt::print("{}: conforms to the format\n", core::printable(arguments->file));
  });
}

}  // namespace

cli::Command data_command() {
  auto parser = cli::make_parser("data", "Make, describe and check data files (format: data/README.md).");
  parser->require_subcommand(1);
  add_import_commands(*parser);
  add_generate(*parser);
  add_generate_speech(*parser);
  add_partition(*parser);
  add_info(*parser);
  add_verify(*parser);
  parser->footer("'paragrad data COMMAND --help' lists the options of a command, with an example.");
  return {parser, [] { return cli::success; }};
}

}  // namespace paragrad::app
