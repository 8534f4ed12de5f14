#include "data/idx.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
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

constexpr std::size_t columns_of_qmnist = 8;

/// The file of a half in the folder: "train-images-idx3-ubyte", plain or .gz, perhaps after the prefix of a data set, as in
/// emnist-letters-test-images-idx3-ubyte; of QMNIST's labels qmnist-test-labels-idx2-int.
std::string find_in(const ImportIdxOptions& options, const std::vector<std::string>& halves, const std::string& what) {
  const std::string kind = what == "images" ? "idx3-ubyte" : "(idx1-ubyte|idx2-int)";
  const std::regex wanted(core::format("(.*[-_.])?({})-{}[-.]{}(\\.gz)?", core::join(halves, "|"), what, kind));
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(options.folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(options.prefix) && std::regex_match(name, wanted)) found.push_back(name);
  }
  std::ranges::sort(found, {}, [](const std::string& name) { return std::pair(name.size(), name); });
  const auto same = [&](const std::string& name) { return name == found.front() || name == found.front() + ".gz"; };
  if (found.empty())
    throw core::ConfigError(core::format(
        "'{}' contains no {}{}-{}-idx{}-ubyte, plain or .gz; give a folder with the four IDX files, or name each file",
        options.folder, options.prefix, halves.front(), what, what == "images" ? 3 : 1));
  const bool plain = std::ranges::any_of(halves, [&](const std::string& half) {
    return found.front().starts_with(options.prefix + half);  // MNIST's own names come first
  });
  if (!plain && !std::ranges::all_of(found, same))
    throw core::ConfigError(
        core::format("'{}' contains {}: choose with `prefix` what the names begin with, or name each file", options.folder,
                     some_of(found)));
  return (fs::path(options.folder) / found.front()).string();
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
    if (images.element_bytes != 1 || images.has_sign)
      throw core::ConfigError(core::format("'{}' does not contain images: its elements are no unsigned bytes", images_path));
    if (labels.shape.size() != 1 && !(labels.shape.size() == 2 && labels.shape[1] == columns_of_qmnist))
      throw core::ConfigError(core::format(
          "'{}' does not contain labels: its shape is {}, neither one-dimensional nor with the {} columns of QMNIST",
          labels_path, core::join(labels.shape, "x"), columns_of_qmnist));
    if (images.shape[0] != labels.shape[0])
      throw core::ConfigError(core::format("'{}' has {} images but '{}' has {} labels", images_path, images.shape[0],
                                           labels_path, labels.shape[0]));
  }

  /// From 0 on, if the first class of the file has the number `first`. QMNIST's first column is the digit.
  std::vector<std::int32_t> classes_of_images(std::size_t first) const {
    std::vector<std::int32_t> result;
    const std::size_t width = labels.row_elements();
    for (std::size_t i = 0; i < labels.shape[0]; ++i) {
      const std::int64_t label = std::int64_t{labels.integer(i * width)} - static_cast<std::int64_t>(first);
      if (label < 0)
        throw core::ConfigError(core::format("'{}' contains label {}, but classes have numbers from {} on", labels.name,
                                             labels.integer(i * width), first));
      result.push_back(static_cast<std::int32_t>(label));
    }
    return result;
  }

  /// As they are stored, the names and checksums going into `info`.
  ImportedSamples take(Imported& info, std::vector<std::int32_t> classes) && {
    for (const auto* file : {&images, &labels})
      info.source_sha256.push_back(core::format("{}: {}", file->name, file->sha256));
    ImportedSamples samples;
    samples.pixels = std::move(images.bytes);
    samples.labels = std::move(classes);
    return samples;
  }
};

void check_labels(const std::vector<std::int32_t>& labels, const IdxFile& file, std::size_t first, std::size_t classes) {
  const auto largest = static_cast<std::size_t>(std::ranges::max(labels));
  if (largest >= classes)
    throw core::ConfigError(
        core::format("'{}' contains label {}, but there are only {} classes", file.name, largest + first, classes));
}

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
  const std::vector<std::string> train{"train"}, test{"t10k", "test"};
  const auto find = [&](std::string& path, const char* option, const std::vector<std::string>& halves,
                        const std::string& what) {
    if (!path.empty()) return;
    if (options.folder.empty())
      throw core::ConfigError(
          core::format("no file is given for `{}`: name it, or give the folder with the four IDX files as `from`", option));
    path = find_in(options, halves, what);
  };
  if (!options.folder.empty() && !fs::is_directory(options.folder))
    throw core::ConfigError(core::format("'{}' is not a folder", options.folder));
  find(options.train_images, "train-images", train, "images");
  find(options.train_labels, "train-labels", train, "labels");
  find(options.test_images, "test-images", test, "images");
  find(options.test_labels, "test-labels", test, "labels");
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
  std::vector<std::int32_t> for_training = train.classes_of_images(options.first_class),
                            for_test = test.classes_of_images(options.first_class);
  info.classes = options.classes > 0 ? options.classes : static_cast<std::size_t>(std::ranges::max(for_training)) + 1;
  check_number_of_classes(info.classes, core::format("the largest label of '{}'", train.labels.name),
                          "name the file of the labels");
  check_labels(for_training, train.labels, options.first_class, info.classes);
  check_labels(for_test, test.labels, options.first_class, info.classes);
  if (std::ranges::min(for_training) > 0)
    info.warnings.push_back(core::format("no label is {}: if the files number the classes from {} on, give `first-class` {}",
                                         options.first_class,
                                         options.first_class + static_cast<std::size_t>(std::ranges::min(for_training)),
                                         options.first_class + static_cast<std::size_t>(std::ranges::min(for_training))));
  if (train.labels.shape.size() == 2)
    info.taken.push_back(core::format("labels: the first of {} columns", columns_of_qmnist));
  ImportedSubsets subsets{
      std::move(train).take(info, std::move(for_training)), {}, std::move(test).take(info, std::move(for_test))};
  report_files(options, info);
  return write_samples(options, std::move(info), "IDX", std::move(subsets));
}

void ImportIdxOptions::describe(core::OptionList& list) {
  const bool all_named = !train_images.empty() && !train_labels.empty() && !test_images.empty() && !test_labels.empty();
  list.text("from", folder, "folder with the four files, under their usual names")
      .path()
      .when(!all_named, "has no effect when all four files are named: leave it out");
  list.text("train-images", train_images, "file of training images, instead of the one in `from`").path();
  list.text("train-labels", train_labels, "file of training labels, instead of the one in `from`").path();
  list.text("test-images", test_images, "file of test images, instead of the one in `from`").path();
  list.text("test-labels", test_labels, "file of test labels, instead of the one in `from`").path();
  list.text("prefix", prefix, "what the names of the files in `from` begin with, such as emnist-letters-")
      .when(!all_named, "has no effect when all four files are named: leave it out");
  list.number("first-class", first_class, {.most = 1000},
              "the number of the first class in the files: 1 for EMNIST's letters");
  describe_data_file(list, false);
  describe_scale(list);
  list.number("classes", classes, {.most = most_classes}, "number of classes (0: largest training label + 1)");
}

Importer idx_importer() {
  return {"idx", "convert MNIST-like IDX files (also .gz) into a data file",
          "`from` mnist `name` mnist `valid` 10 `out` mnist.h5", import_with<ImportIdxOptions>(import_idx)};
}

}  // namespace paragrad::data
