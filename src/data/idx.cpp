#include "data/idx.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/options.hpp"
#include "data/idx_file.hpp"
#include "data/importer.hpp"

namespace paragrad::data {
namespace {

namespace fs = std::filesystem;

std::string find_in(const std::string& folder, const std::string& what, int rank) {
  for (const char* separator : {"-", "."})
    for (const char* ending : {"", ".gz"}) {
      const auto path = fs::path(folder) / core::format("{}{}idx{}-ubyte{}", what, separator, rank, ending);
      if (fs::exists(path)) return path.string();
    }
  throw core::ConfigError(
      core::format("'{}' contains no {}-idx{}-ubyte, plain or .gz; give a folder with the four IDX files, or name each file",
                   folder, what, rank));
}

/// Images and labels of one half of the data set.
struct Half {
  IdxFile images;  // [samples][…]
  IdxFile labels;  // [samples]

  Half(const std::string& images_path, const std::string& labels_path)
      : images(read_idx(images_path)), labels(read_idx(labels_path)) {
    if (images.shape.size() < 2 || images.row_elements() == 0)
      throw core::ConfigError(
          core::format("'{}' does not contain images: its shape is {}", images_path, core::join(images.shape, "x")));
    if (labels.shape.size() != 1)
      throw core::ConfigError(core::format("'{}' does not contain labels: its shape is {}, not one-dimensional", labels_path,
                                           core::join(labels.shape, "x")));
    if (images.shape[0] != labels.shape[0])
      throw core::ConfigError(core::format("'{}' has {} images but '{}' has {} labels", images_path, images.shape[0],
                                           labels_path, labels.shape[0]));
  }

  void check_labels(std::size_t classes) const {
    const auto largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
    if (largest >= classes)
      throw core::ConfigError(
          core::format("'{}' contains label {}, but there are only {} classes", labels.name, largest, classes));
  }

  /// As they are stored, the names and checksums going into `info`.
  ImportedSamples take(Imported& info) && {
    for (const auto* file : {&images, &labels})
      info.source_sha256.push_back(core::format("{}: {}", file->name, file->sha256));
    ImportedSamples samples;
    samples.pixels = std::move(images.bytes);
    samples.labels.assign(labels.bytes.begin(), labels.bytes.end());
    return samples;
  }
};

/// Names the files that are read, and warns of IDX files in the folder that are not.
void report_files(const ImportIdxOptions& options, Imported& info) {
  const std::array<std::string, 4> paths{options.train_images, options.train_labels, options.test_images,
                                         options.test_labels};
  std::vector<std::string> names, others;
  for (const std::string& path : paths) names.push_back(fs::path(path).filename().string());
  info.taken.push_back(core::format("files: {}", core::join(names, ", ")));
  if (options.folder.empty()) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(options.folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find("idx") != std::string::npos && std::ranges::find(names, name) == names.end()) others.push_back(name);
  }
  std::ranges::sort(others);
  if (!others.empty())
    info.warnings.push_back(
        core::format("left out {} of '{}': {}", several(others.size(), "IDX file"), options.folder, some_of(others)));
}

ImportIdxOptions with_paths(ImportIdxOptions options) {
  const auto find = [&](std::string& path, const char* option, const std::string& what, int rank) {
    if (!path.empty()) return;
    if (options.folder.empty())
      throw core::ConfigError(
          core::format("no file is given for `{}`: name it, or give the folder with the four IDX files as `from`", option));
    path = find_in(options.folder, what, rank);
  };
  find(options.train_images, "train-images", "train-images", 3);
  find(options.train_labels, "train-labels", "train-labels", 1);
  find(options.test_images, "test-images", "t10k-images", 3);
  find(options.test_labels, "test-labels", "t10k-labels", 1);
  return options;
}

}  // namespace

Imported import_idx(const ImportIdxOptions& given) {
  const auto options = with_paths(given);
  Half train(options.train_images, options.train_labels);
  Half test(options.test_images, options.test_labels);
  if (!std::equal(train.images.shape.begin() + 1, train.images.shape.end(), test.images.shape.begin() + 1,
                  test.images.shape.end()))
    throw core::ConfigError(core::format("training and test images differ in size: {} and {}",
                                         core::join(train.images.shape, "x"), core::join(test.images.shape, "x")));
  Imported info;
  info.dim = train.images.row_elements();
  const std::vector<std::size_t>& shape = train.images.shape;
  if (shape.size() == 3) info.image = ImageShape{shape[1], shape[2], 1};
  info.classes = options.classes;
  if (info.classes == 0)
    info.classes = std::size_t{*std::max_element(train.labels.bytes.begin(), train.labels.bytes.end())} + 1;
  train.check_labels(info.classes);
  test.check_labels(info.classes);
  ImportedSamples for_training = std::move(train).take(info), for_test = std::move(test).take(info);
  report_files(options, info);
  return write_samples(options, std::move(info), "IDX", {std::move(for_training), {}, std::move(for_test)});
}

void ImportIdxOptions::describe(core::OptionList& list) {
  const bool all_named = !train_images.empty() && !train_labels.empty() && !test_images.empty() && !test_labels.empty();
  list.text("from", folder, "folder with the four files, under their usual names")
      .when(!all_named, "has no effect when all four files are named: leave it out");
  list.text("train-images", train_images, "file of training images, instead of the one in `from`");
  list.text("train-labels", train_labels, "file of training labels, instead of the one in `from`");
  list.text("test-images", test_images, "file of test images, instead of the one in `from`");
  list.text("test-labels", test_labels, "file of test labels, instead of the one in `from`");
  describe_data_file(list, false);
  describe_scale(list);
  list.number("classes", classes, {.most = most_classes}, "number of classes (0: largest training label + 1)");
}

Importer idx_importer() {
  return {"idx", "convert MNIST-like IDX files (also .gz) into a data file",
          "`from` mnist `name` mnist `valid` 10 `out` mnist.h5", import_with<ImportIdxOptions>(import_idx)};
}

}  // namespace paragrad::data
