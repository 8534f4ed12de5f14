#include "app/command.hpp"
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
#include "data/idx.hpp"
#include "data/partition.hpp"
#include "data/verify.hpp"
#include "speech/fsdd_import.hpp"
#include "speech/kaldi_import.hpp"
#include "speech/synthesis/generate_speech.hpp"

namespace paragrad::app {
namespace {

void print_written(const data::DatasetInfo& info, const std::string& path) {
  fmt::print("{}: {} training, {} validation, {} test samples of {} features, {} classes\n", core::printable(path),
             info.samples[0], info.samples[1], info.samples[2], info.dim, info.classes);
  fmt::print("content sha256 {}\n", info.content_sha256);
}

void add_import_idx(CLI::App& data) {
  CLI::App* command = data.add_subcommand("import-idx", "MNIST-like IDX files (also .gz) to a data file");
  auto options = std::make_shared<data::ImportIdxOptions>();
  command->add_option("--from", options->folder, "folder with the four files under their usual names");
  command->add_option("--train-images", options->train_images, "file, instead of --from");
  command->add_option("--train-labels", options->train_labels, "file, instead of --from");
  command->add_option("--test-images", options->test_images, "file, instead of --from");
  command->add_option("--test-labels", options->test_labels, "file, instead of --from");
  command->add_option("--out", options->out, "data file to write")->required();
  command->add_option("--name", options->name, "of the data set")->required();
  command->add_option("--source", options->source, "where the files come from, for the record");
  command->add_option("--licence", options->licence, "for the record");
  add_number(*command, "--valid", options->valid, any_count, "training samples to set aside for validation");
  add_number(*command, "--seed", options->seed, any_seed, "of the draw of the validation set");
  add_number(*command, "--classes", options->classes, any_count, "number of classes (0: largest training label + 1)");
  set_examples(*command, "paragrad data import-idx --from mnist --name mnist --valid 10 --out mnist.h5");
  command->callback([command, options] {
    OptionUse use(*command);
    const bool all_named = !options->train_images.empty() && !options->train_labels.empty() &&
                           !options->test_images.empty() && !options->test_labels.empty();
    use.require(!all_named, {"from"}, "is for files that are not named: leave it out, as all four are");
    use.require(options->valid > 0, {"seed"}, "is of the draw of the validation set: give --valid too");
    use.check();
    print_written(data::import_idx(*options), options->out);
  });
}

double parse_frame_shift(const std::string& text) {
  const double shift_s = core::parse_quantity(text, core::Unit::time);
  if (!(shift_s > 0)) throw core::ConfigError(core::format("--frame-shift '{}' must be above zero", text));
  return shift_s;
}

struct ImportKaldiArguments {
  speech::ImportKaldiOptions options;
  std::string context = "0+0";
  std::string frame_shift = "10ms";
};

void import_kaldi(ImportKaldiArguments& arguments, const CLI::App& parser) {
  auto& options = arguments.options;
  OptionUse use(parser);
  use.require(!options.features[1].empty(), {"valid-alignments"}, "is of the set of --valid-features: give that too");
  use.require(!options.features[2].empty(), {"test-alignments"}, "is of the set of --test-features: give that too");
  use.require(options.valid > 0, {"seed"}, "is of the draw of the validation set: give --valid too");
  use.check();
  options.context = data::parse_context(arguments.context);
  options.frame_shift_s = parse_frame_shift(arguments.frame_shift);
  const auto imported = speech::import_kaldi(options);
  print_written(imported.info, options.out);
  if (options.skip_missing)
    fmt::print("skipped {} utterances without alignment and {} whose alignment has another length\n",
               imported.without_alignment, imported.other_length);
}

void add_import_kaldi(CLI::App& data) {
  CLI::App* command = data.add_subcommand("import-kaldi", "Kaldi's features and alignments (ark, scp) to a data file");
  auto arguments = std::make_shared<ImportKaldiArguments>();
  auto& options = arguments->options;
  command->add_option("--features", options.features[0], "table of the training set: FILE.scp, or an archive")->required();
  command->add_option("--alignments", options.alignments[0], "table: the class of each frame, int32 (of ali-to-pdf)")
      ->required();
  command->add_option("--valid-features", options.features[1], "of the validation set");
  command->add_option("--valid-alignments", options.alignments[1], "where they are not in --alignments");
  command->add_option("--test-features", options.features[2], "of the test set");
  command->add_option("--test-alignments", options.alignments[2], "where they are not in --alignments");
  command->add_option("--utt2spk", options.utt2spk, "file: who speaks which utterance");
  command->add_option(
      "--cmvn", options.cmvn,
      "normalise by utterance, speaker, global (the training set), none, or a file of statistics or transforms");
  command->add_option("--context", arguments->context, "frames left and right that the network sees with each, as 5+5");
  command->add_option("--frame-shift", arguments->frame_shift, "from frame to frame");
  command->add_flag("--skip-missing", options.skip_missing, "leave out utterances without alignment, or of another length");
  command->add_option("--out", options.out, "data file to write")->required();
  command->add_option("--name", options.name, "of the data set")->required();
  command->add_option("--source", options.source, "where the files come from, for the record");
  command->add_option("--licence", options.licence, "for the record");
  add_number(*command, "--valid", options.valid, any_count, "training utterances to set aside for validation");
  add_number(*command, "--seed", options.seed, any_seed, "of the draw of the validation set");
  add_number(*command, "--classes", options.classes, any_count, "number of classes (0: largest training label + 1)");
  command->add_option("--class-names", options.class_names, "file: a name for each class, one a line");
  set_examples(*command,
               "paragrad data import-kaldi --features feats.scp --alignments ali.ark --cmvn utterance --context 5+5 \\\n"
               "    --valid 2 --name speech --out speech.h5");
  command->callback([command, arguments] { import_kaldi(*arguments, *command); });
}

struct ImportFsddArguments {
  speech::ImportFsddOptions options;
  std::string context = "0+0";
  std::string frame_shift = "10ms";
};

void add_import_fsdd(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("import-fsdd", "recordings of spoken digits (FSDD) to a data file, as a flat start");
  auto arguments = std::make_shared<ImportFsddArguments>();
  auto& options = arguments->options;
  command->add_option("--recordings", options.recordings, "folder of files like 7_jackson_32.wav")->required();
  command->add_option("--out", options.out, "data file to write")->required();
  add_number(*command, "--states", options.states, {.least = 1, .most = 1000}, "of each digit");
  add_number(*command, "--test", options.test, any_count, "recordings with an index below are the test set");
  add_number(*command, "--valid", options.valid, any_count, "so many indices behind them the validation set");
  add_number(*command, "--bins", options.bins, {.least = 1, .most = 4096}, "mel filters");
  add_number(*command, "--deltas", options.deltas, {.least = 0, .most = 4}, "derivatives of them, added");
  command->add_option("--context", arguments->context, "frames left and right that the network sees with each, as 5+5");
  command->add_option("--frame-shift", arguments->frame_shift, "from frame to frame");
  set_examples(*command, "paragrad data import-fsdd --recordings recordings --context 0+0 --out digits.h5");
  command->callback([arguments] {
    arguments->options.context = data::parse_context(arguments->context);
    arguments->options.frame_shift_s = parse_frame_shift(arguments->frame_shift);
    print_written(speech::import_fsdd(arguments->options), arguments->options.out);
  });
}

void add_generate(CLI::App& data) {
  CLI::App* command = data.add_subcommand("generate", "a frame classification task from a hidden Markov model, of any size");
  auto options = std::make_shared<data::GenerateOptions>();
  command->add_option("--out", options->out, "data file to write")->required();
  command->add_option("--name", options->name, "of the data set");
  add_number(*command, "--samples", options->samples, one_or_more, "training frames");
  add_number(*command, "--valid", options->valid, any_count, "validation frames");
  add_number(*command, "--test", options->test, any_count, "test frames");
  add_number(*command, "--dim", options->dim, one_or_more, "features of a frame");
  add_number(*command, "--classes", options->classes, any_count, "states of the teacher");
  add_number(*command, "--mixtures", options->mixtures, one_or_more, "Gaussians of each state");
  add_number(*command, "--mean-duration", options->mean_duration, {.least = 1}, "frames until a state is left, on average");
  add_number(*command, "--separation", options->separation, zero_or_more,
             "distance of the Gaussians' means in standard deviations");
  add_number(*command, "--sequence-length", options->sequence_length, one_or_more, "frames of a sequence, on average");
  add_number(*command, "--seed", options->seed, any_seed, "of everything");
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
              "is for validation and test: give --valid or --test");
  use.check();
  options.context = data::parse_context(arguments.context);
  const auto generated = speech::generate_speech(options);
  print_written(generated.info, options.out);
  fmt::print("a context has a class of its own where it has {} training frames or more\n", generated.least_frames);
}

void add_generate_speech(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("generate-speech", "speech of synthetic voices, with the state of a phone for each frame");
  auto arguments = std::make_shared<GenerateSpeechArguments>();
  auto& options = arguments->options;
  command->add_option("--text", options.text, "file: what is said for training, a sentence to a line")->required();
  command->add_option("--unseen-text", options.unseen_text, "file: what is said for validation and test");
  command->add_option("--out", options.out, "data file to write")->required();
  command->add_option("--name", options.name, "of the data set");
  command->add_option("--train", arguments->train, "how long the training set is, as 1h");
  command->add_option("--valid", arguments->valid, "how long the validation set is");
  command->add_option("--test", arguments->test, "how long the test set is");
  add_words(*command, "--voices", options.voices, "of flite, as slt,rms,awb (default: all)");
  add_number(*command, "--classes", options.classes, any_count, "at most so many; what has few frames is tied");
  add_number(*command, "--bins", options.bins, {.least = 1, .most = 4096}, "mel filters");
  add_number(*command, "--deltas", options.deltas, {.least = 0, .most = 4}, "derivatives of them, added");
  command->add_option("--context", arguments->context, "frames left and right that the network sees with each, as 5+5");
  add_number(*command, "--jobs", options.jobs, {.least = 1, .most = 10000},
             "processes that speak; the data are the same for any number");
  add_number(*command, "--seed", options.seed, any_seed, "of everything");
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
    throw core::ConfigError("a partition needs either --blocks or --split-duration");
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
  CLI::App* command = data.add_subcommand("partition", "store a random partition N x M in a data file");
  auto options = std::make_shared<PartitionArguments>();
  command->add_option("file", options->file, "data file")->required();
  add_number(*command, "--workers", options->workers, {.least = 1, .most = 10000000}, "N: splits per block")->required();
  add_number(*command, "--blocks", options->blocks, {.least = 0, .most = 100000000}, "M: blocks");
  command->add_option("--split-duration", options->split_duration,
                      "instead of --blocks: how long a split lasts, as 22.5min; the data file must know its frame shift");
  command->add_flag("--utterances", options->utterances, "whole utterances in each split, not samples one by one");
  add_number(*command, "--seed", options->seed, any_seed, "of the random order");
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
  CLI::App* command = data.add_subcommand("verify", "check every promise of the format, the checksum too");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "data file")->required();
  set_examples(*command, "paragrad data verify frames.h5");
  command->callback([file] {
    const auto findings = data::verify(*file);
    for (std::size_t i = 0; i + 1 < findings.size(); ++i) print_error(findings[i]);
    if (!findings.empty()) throw core::ConfigError(findings.back());
    fmt::print("{}: every promise of the format holds\n", core::printable(*file));
  });
}

}  // namespace

Command data_command() {
  auto parser = make_parser("data", "Makes, describes and checks data files (format: data/README.md).");
  parser->require_subcommand(1);
  add_import_idx(*parser);
  add_import_kaldi(*parser);
  add_import_fsdd(*parser);
  add_generate(*parser);
  add_generate_speech(*parser);
  add_partition(*parser);
  add_info(*parser);
  add_verify(*parser);
  parser->footer("'paragrad data COMMAND --help' lists the options of one, with an example.");
  return {parser, [] { return success; }};
}

}  // namespace paragrad::app
