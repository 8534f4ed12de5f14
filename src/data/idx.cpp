#include "data/idx.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "data/idx_file.hpp"
#include "data/writer.hpp"

namespace paragrad::data {
namespace {

std::string find_in(const std::string& folder, const std::string& what, int rank) {
  for (const char* separator : {"-", "."})
    for (const char* ending : {"", ".gz"}) {
      const auto path = std::filesystem::path(folder) / core::format("{}{}idx{}-ubyte{}", what, separator, rank, ending);
      if (std::filesystem::exists(path)) return path.string();
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
          core::format("'{}' does not contain images: its shape is {}", images_path, fmt::join(images.shape, "x")));
    if (labels.shape.size() != 1)
      throw core::ConfigError(core::format("'{}' does not contain labels: its shape is {}, not one-dimensional", labels_path,
                                           fmt::join(labels.shape, "x")));
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

  void write(DatasetWriter& writer, Subset subset, std::span<const std::uint32_t> rows) const {
    writer.begin(subset, rows.size());
    const std::size_t dim = images.row_elements();
    constexpr std::size_t rows_at_once = 1024;
    std::vector<std::uint8_t> features;
    std::vector<std::int32_t> targets;
    for (std::size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
      features.clear();
      targets.clear();
      for (const auto row : rows.subspan(begin, std::min(rows_at_once, rows.size() - begin))) {
        const auto image = std::span(images.bytes).subspan(row * dim, dim);
        features.insert(features.end(), image.begin(), image.end());
        targets.push_back(labels.bytes[row]);
      }
      writer.append(std::span<const std::uint8_t>(features), std::span<const std::int32_t>(targets));
    }
  }
};

ImportIdxOptions with_paths(ImportIdxOptions options) {
  if (options.folder.empty()) return options;
  options.train_images = find_in(options.folder, "train-images", 3);
  options.train_labels = find_in(options.folder, "train-labels", 1);
  options.test_images = find_in(options.folder, "t10k-images", 3);
  options.test_labels = find_in(options.folder, "t10k-labels", 1);
  return options;
}

/// Row numbers of the validation set and of the rest, both rising.
std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> draw_valid(std::size_t samples, std::size_t valid,
                                                                             std::uint64_t seed) {
  const core::RandomStream stream(seed, core::Purpose::validation_split);
  auto order = stream.permutation(static_cast<std::uint32_t>(samples));
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(valid);
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  return {{order.begin(), middle}, {middle, order.end()}};
}

DatasetInfo describe(const ImportIdxOptions& options, const Half& train, const Half& test) {
  DatasetInfo info;
  info.name = options.name;
  info.source = core::format("{}{}IDX; {} samples of the training set drawn for validation with seed {}", options.source,
                             options.source.empty() ? "" : "; ", options.valid, options.seed);
  info.licence = options.licence;
  for (const auto* file : {&train.images, &train.labels, &test.images, &test.labels})
    info.source_sha256.push_back(core::format("{}: {}", file->name, file->sha256));
  info.encoding.type = core::NumberType::uint8;
  info.encoding.scale = 1.f / 255;
  info.dim = train.images.row_elements();
  info.classes = options.classes;
  if (info.classes == 0)
    info.classes = std::size_t{*std::max_element(train.labels.bytes.begin(), train.labels.bytes.end())} + 1;
  return info;
}

}  // namespace

DatasetInfo import_idx(const ImportIdxOptions& given) {
  const auto options = with_paths(given);
  const Half train(options.train_images, options.train_labels);
  const Half test(options.test_images, options.test_labels);
  if (!std::equal(train.images.shape.begin() + 1, train.images.shape.end(), test.images.shape.begin() + 1,
                  test.images.shape.end()))
    throw core::ConfigError(core::format("training and test images differ in size: {} and {}",
                                         fmt::join(train.images.shape, "x"), fmt::join(test.images.shape, "x")));
  const std::size_t samples = train.labels.shape[0];
  if (options.valid >= samples)
    throw core::ConfigError(core::format("a validation set of {} uses up all {} training samples; choose a smaller one",
                                         options.valid, samples));
  const auto info = describe(options, train, test);
  train.check_labels(info.classes);
  test.check_labels(info.classes);

  const auto [valid, rest] = draw_valid(samples, options.valid, options.seed);
  std::vector<std::uint32_t> all(test.labels.shape[0]);
  std::iota(all.begin(), all.end(), 0u);
  DatasetWriter writer(options.out, info);
  train.write(writer, Subset::train, rest);
  train.write(writer, Subset::valid, valid);
  test.write(writer, Subset::test, all);
  return writer.finish();
}

}  // namespace paragrad::data
