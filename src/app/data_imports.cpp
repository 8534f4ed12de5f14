#include "app/data_imports.hpp"

#include "app/number_options.hpp"
#include "app/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "data/cifar.hpp"
#include "data/csv_import.hpp"
#include "data/idx.hpp"
#include "data/image_folder.hpp"
#include "data/numpy_import.hpp"
#include "speech/fsdd_import.hpp"
#include "speech/kaldi_import.hpp"

namespace paragrad::app {
namespace {

void add_sample_import_options(CLI::App& command, data::SampleImportOptions& options) {
  command.add_option("--out", options.out, "data file to write")->required();
  command.add_option("--name", options.name, "name of the data set")->required();
  command.add_option("--source", options.source, "origin of the files, recorded in the data file");
  command.add_option("--licence", options.licence, "licence of the data, recorded in the data file");
  add_number(command, "--valid", options.valid, core::any_count, "training samples to set aside for validation");
}

void add_scale(CLI::App& command, data::SampleImportOptions& options) {
  command
      .add_option(
          "--scale", options.scale,
          "how the network sees features of uint8: bytes (255 is 1), none (as they are), or auto, none if no value is "
          "above 1 and otherwise bytes, which a table is only taken for if it contains 255")
      ->check(CLI::IsMember({"auto", "bytes", "none"}));
}

void add_image_import_options(CLI::App& command, data::SampleImportOptions& options) {
  add_sample_import_options(command, options);
  add_number(command, "--seed", options.seed, core::any_seed, "random seed for drawing the validation set");
  add_flag(command, "--normalise", options.normalise,
           "features of mean 0 and variance 1 over all pixels of the training set, not from 0 to 1");
}

/// Options of an import of features that may be no images, and whose sets may all be drawn from one.
void add_table_import_options(CLI::App& command, data::SampleImportOptions& options) {
  add_sample_import_options(command, options);
  add_number(command, "--test", options.test, core::any_count, "training samples to set aside for the test");
  add_number(command, "--seed", options.seed, core::any_seed, "random seed for drawing the validation and test sets");
  add_flag(command, "--normalise", options.normalise,
           "each feature of mean 0 and variance 1 over the training set; of images, and of uint8, all together");
}

void check_set_aside(const CLI::App& command, const data::SampleImportOptions& options,
                     const std::string& sets = "--valid") {
  OptionUse use(command);
  use.require(options.valid > 0 || options.test > 0, {"seed"},
              core::format("is for drawing samples from the training set: give {} too", sets));
  use.require(!options.normalise, {"scale"}, "has no effect with --normalise, which decides the scale: leave it out");
  use.check();
}

void add_classes(CLI::App& command, std::size_t& classes) {
  add_number(command, "--classes", classes, {.least = 0, .most = data::most_classes},
             "number of classes (0: largest training label + 1)");
}

/// What was written, what was read as what, and what is probably not meant, a line each.
void print_imported(const data::Imported& imported, const std::string& path) {
  print_written(imported, path);
  for (const std::string& line : imported.taken) fmt::print("{}\n", with_flags(core::printable_message(line)));
  for (const std::string& line : imported.warnings) fmt::print("warning: {}\n", with_flags(core::printable_message(line)));
}

void add_import_idx(CLI::App& data) {
  CLI::App* command = data.add_subcommand("import-idx", "convert MNIST-like IDX files (also .gz) into a data file");
  auto options = std::make_shared<data::ImportIdxOptions>();
  command->add_option("--from", options->folder, "folder with the four files, under their usual names");
  command->add_option("--train-images", options->train_images, "file of training images, instead of the one in --from");
  command->add_option("--train-labels", options->train_labels, "file of training labels, instead of the one in --from");
  command->add_option("--test-images", options->test_images, "file of test images, instead of the one in --from");
  command->add_option("--test-labels", options->test_labels, "file of test labels, instead of the one in --from");
  add_image_import_options(*command, *options);
  add_scale(*command, *options);
  add_classes(*command, options->classes);
  set_examples(*command, "paragrad data import-idx --from mnist --name mnist --valid 10 --out mnist.h5");
  command->callback([command, options] {
    OptionUse use(*command);
    const bool all_named = !options->train_images.empty() && !options->train_labels.empty() &&
                           !options->test_images.empty() && !options->test_labels.empty();
    use.require(!all_named, {"from"}, "has no effect when all four files are named: leave it out");
    use.check();
    check_set_aside(*command, *options);
    print_imported(data::import_idx(*options), options->out);
  });
}

void add_import_cifar(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("import-cifar", "convert the binary version of CIFAR-10 or CIFAR-100 into a data file");
  auto options = std::make_shared<data::ImportCifarOptions>();
  command->add_option("--from", options->folder, "folder with the .bin files")->required();
  command->add_option("--labels", options->labels, "of CIFAR-100: fine (100 classes) or coarse (20)")
      ->check(CLI::IsMember({"fine", "coarse"}));
  add_image_import_options(*command, *options);
  set_examples(*command,
               "paragrad data import-cifar --from cifar-10-batches-bin --name cifar10 --normalise --out cifar10.h5");
  command->callback([command, options] {
    check_set_aside(*command, *options);
    print_imported(data::import_cifar(*options), options->out);
  });
}

void add_import_images(CLI::App& data) {
  CLI::App* command = data.add_subcommand(
      "import-images", "convert folders of PNG and JPEG images, train/CLASS/* and test/CLASS/*, into a data file");
  auto options = std::make_shared<data::ImportFolderOptions>();
  command->add_option("--from", options->folder, "folder with the two below")->required();
  command->add_option("--train", options->train, "folder of the training set, with a folder for each class");
  command->add_option("--test", options->test, "folder of the test set, likewise");
  command->add_option("--validation", options->validation,
                      "folder of the validation set, likewise (default: val, valid or validation, if there is one)");
  add_number(*command, "--channels", options->channels, {.least = 0, .most = 3},
             "1 for grey images, 3 for colour (0: as in the first training image)");
  add_flag(*command, "--skip-damaged", options->skip_damaged,
           "leave out files that cannot be decoded, and print how many and why the first one cannot");
  add_image_import_options(*command, *options);
  add_scale(*command, *options);
  set_examples(*command, "paragrad data import-images --from pictures --name pictures --valid 4 --out pictures.h5");
  command->callback([command, options] {
    check_set_aside(*command, *options);
    print_imported(data::import_image_folder(*options), options->out);
  });
}

void add_import_numpy(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("import-numpy", "convert NumPy arrays, x_train, y_train and others, into a data file");
  auto options = std::make_shared<data::ImportNumpyOptions>();
  command->add_option("--from", options->from, "an .npz file, or a folder of .npy files")->required();
  add_words(*command, "--arrays", options->arrays,
            "names of arrays that are not called as usual, such as x_train=A,y_train=B; also of x_valid, y_valid, x_test, "
            "y_test, and of lengths_train, lengths_valid, lengths_test, the numbers of frames of sequences");
  add_classes(*command, options->classes);
  add_table_import_options(*command, *options);
  add_scale(*command, *options);
  command
      ->add_option(
          "--layout", options->layout,
          "of images with channels: channels-last (samples x height x width x channels), channels-first, or auto, the "
          "former unless the shape looks like the latter")
      ->check(CLI::IsMember({"auto", "channels-last", "channels-first"}));
  set_examples(*command, "paragrad data import-numpy --from images.npz --name images --valid 10 --out images.h5");
  command->callback([command, options] {
    check_set_aside(*command, *options, "--valid or --test");
    print_imported(data::import_numpy(*options), options->out);
  });
}

void add_import_csv(CLI::App& data) {
  CLI::App* command = data.add_subcommand("import-csv", "convert a text table (CSV, also .gz) into a data file");
  auto options = std::make_shared<data::ImportCsvOptions>();
  command->add_option("--from", options->file, "the table: a line per sample, numbers and a label or targets")->required();
  CLI::Option* label =
      command->add_option("--label", options->label, "name or number of the column of labels (default: the last)");
  add_words(*command, "--targets", options->targets,
            "instead of labels, real-valued targets: names or numbers of their columns, such as price,7")
      ->excludes(label);
  add_words(*command, "--leave-out", options->leave_out,
            "columns that are neither features nor labels nor targets: their names or numbers, such as id,7");
  command
      ->add_option(
          "--missing-labels", options->missing_labels,
          "what to do with labels such as NA, ? or null: refuse them, leave-out (their lines), or class (take them for the "
          "name of one)")
      ->check(CLI::IsMember({"refuse", "leave-out", "class"}));
  command
      ->add_option("--separator", options->separator,
                   "of the columns: comma, semicolon, tab, or auto, what the first line has")
      ->check(CLI::IsMember({"auto", "comma", "semicolon", "tab"}));
  command
      ->add_option("--header", options->header,
                   "whether the first line names the columns: yes, no, or auto, if no feature in it is a number")
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  add_table_import_options(*command, *options);
  set_examples(*command,
               "paragrad data import-csv --from flowers.csv --label species --name flowers --valid 4 --test 4 --normalise "
               "--out flowers.h5");
  command->callback([command, options] {
    OptionUse use(*command);
    use.require(options->targets.empty(), {"missing-labels"}, "is for labels, and these are --targets: leave it out");
    use.check();
    check_set_aside(*command, *options, "--valid or --test");
    print_imported(data::import_csv(*options), options->out);
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
  use.require(!options.features[1].empty(), {"valid-alignments"}, "belongs to --valid-features: give that too");
  use.require(!options.features[2].empty(), {"test-alignments"}, "belongs to --test-features: give that too");
  use.require(options.valid > 0, {"seed"}, "is for drawing a validation set: give --valid too");
  use.check();
  options.context = data::parse_context(arguments.context);
  options.frame_shift_s = parse_frame_shift(arguments.frame_shift);
  const auto imported = speech::import_kaldi(options);
  print_imported(imported.info, options.out);
  if (options.skip_missing)
    fmt::print("skipped {} utterances without alignment and {} whose alignment has a different length\n",
               imported.without_alignment, imported.other_length);
}

void add_import_kaldi(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("import-kaldi", "convert Kaldi features and alignments (ark, scp) into a data file");
  auto arguments = std::make_shared<ImportKaldiArguments>();
  auto& options = arguments->options;
  command->add_option("--features", options.features[0], "table of training features: FILE.scp, or an archive")->required();
  command->add_option("--alignments", options.alignments[0], "table of the int32 class of each frame (from ali-to-pdf)")
      ->required();
  command->add_option("--valid-features", options.features[1], "table of validation features");
  command->add_option("--valid-alignments", options.alignments[1],
                      "table of validation alignments, if they are not in --alignments");
  command->add_option("--test-features", options.features[2], "table of test features");
  command->add_option("--test-alignments", options.alignments[2],
                      "table of test alignments, if they are not in --alignments");
  command->add_option("--utt2spk", options.utt2spk, "file with the speaker of each utterance");
  command->add_option(
      "--cmvn", options.cmvn,
      "normalisation of mean and variance: utterance, speaker, global (training set), none, or a file of statistics or "
      "transforms");
  command->add_option("--context", arguments->context,
                      "frames of context left and right of each frame that the network sees, such as 5+5");
  command->add_option("--frame-shift", arguments->frame_shift, "time from one frame to the next");
  add_flag(*command, "--skip-missing", options.skip_missing,
           "skip utterances without alignment, or whose alignment has a different length");
  command->add_option("--out", options.out, "data file to write")->required();
  command->add_option("--name", options.name, "name of the data set")->required();
  command->add_option("--source", options.source, "origin of the files, recorded in the data file");
  command->add_option("--licence", options.licence, "licence of the data, recorded in the data file");
  add_number(*command, "--valid", options.valid, core::any_count, "training utterances to set aside for validation");
  add_number(*command, "--seed", options.seed, core::any_seed, "random seed for drawing the validation set");
  add_classes(*command, options.classes);
  command->add_option("--class-names", options.class_names, "file of class names, one per line");
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
  CLI::App* command = data.add_subcommand(
      "import-fsdd", "convert recordings of spoken digits (FSDD) into a data file, with flat-start labels");
  auto arguments = std::make_shared<ImportFsddArguments>();
  auto& options = arguments->options;
  command->add_option("--recordings", options.recordings, "folder of files such as 7_jackson_32.wav")->required();
  command->add_option("--out", options.out, "data file to write")->required();
  add_number(*command, "--states", options.states, {.least = 1, .most = 1000}, "number of states of each digit");
  add_number(*command, "--test", options.test, core::any_count, "recordings with an index below this form the test set");
  add_number(*command, "--valid", options.valid, core::any_count,
             "number of further indices whose recordings form the validation set");
  add_number(*command, "--bins", options.bins, {.least = 1, .most = 4096}, "number of mel filters");
  add_number(*command, "--deltas", options.deltas, {.least = 0, .most = 4},
             "orders of time derivatives of the mel features to append");
  command->add_option("--context", arguments->context,
                      "frames of context left and right of each frame that the network sees, such as 5+5");
  command->add_option("--frame-shift", arguments->frame_shift, "time from one frame to the next");
  set_examples(*command, "paragrad data import-fsdd --recordings recordings --context 0+0 --out digits.h5");
  command->callback([arguments] {
    arguments->options.context = data::parse_context(arguments->context);
    arguments->options.frame_shift_s = parse_frame_shift(arguments->frame_shift);
    print_imported(speech::import_fsdd(arguments->options), arguments->options.out);
  });
}

}  // namespace

void print_written(const data::DatasetInfo& info, const std::string& path) {
  const std::string answers = info.targets > 0 ? core::format("{} target{}", info.targets, info.targets > 1 ? "s" : "")
                                               : core::format("{} classes", info.classes);
  fmt::print("{}: {} training, {} validation, {} test samples of {} features, {}\n", core::printable(path), info.samples[0],
             info.samples[1], info.samples[2], info.dim, answers);
  fmt::print("content sha256 {}\n", info.content_sha256);
}

void add_import_commands(CLI::App& data) {
  add_import_idx(data);
  add_import_cifar(data);
  add_import_images(data);
  add_import_numpy(data);
  add_import_csv(data);
  add_import_kaldi(data);
  add_import_fsdd(data);
}

}  // namespace paragrad::app
