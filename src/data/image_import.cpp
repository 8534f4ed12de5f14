#include "data/image_import.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "data/writer.hpp"

namespace paragrad::data {
namespace {

void write(DatasetWriter& writer, Subset subset, const LabelledImages& from, std::size_t dim,
           std::span<const std::uint32_t> rows) {
  writer.begin(subset, rows.size());
  constexpr std::size_t rows_at_once = 1024;
  std::vector<std::uint8_t> features;
  std::vector<std::int32_t> targets;
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    features.clear();
    targets.clear();
    for (const auto row : rows.subspan(begin, std::min(rows_at_once, rows.size() - begin))) {
      const auto image = std::span(from.pixels).subspan(row * dim, dim);
      features.insert(features.end(), image.begin(), image.end());
      targets.push_back(from.labels[row]);
    }
    writer.append(std::span<const std::uint8_t>(features), std::span<const std::int32_t>(targets));
  }
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

/// The encoding that gives the pixels of these images mean 0 and variance 1.
core::Encoding normalising(const LabelledImages& images, std::size_t dim, std::span<const std::uint32_t> rows) {
  std::uint64_t sum = 0, squares = 0;
  for (const auto row : rows)
    for (const std::uint64_t pixel : std::span(images.pixels).subspan(row * dim, dim)) {
      sum += pixel;
      squares += pixel * pixel;
    }
  const double count = static_cast<double>(rows.size() * dim), mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  if (!(variance > 0)) throw core::ConfigError("all pixels of the training set are the same: they cannot be normalised");
  const double scale = 1 / std::sqrt(variance);
  return {core::NumberType::uint8, static_cast<float>(scale), static_cast<float>(-mean * scale)};
}

}  // namespace

DatasetInfo write_images(const ImageImportOptions& options, DatasetInfo info, const std::string& format,
                         const LabelledImages& train, const LabelledImages& test) {
  const std::size_t samples = train.labels.size();
  if (options.valid >= samples)
    throw core::ConfigError(core::format("a validation set of {} uses up all {} training samples; choose a smaller one",
                                         options.valid, samples));
  const auto [valid, rest] = draw_valid(samples, options.valid, options.seed);
  info.name = options.name;
  info.source = core::format("{}{}{}; {} samples of the training set drawn for validation with seed {}", options.source,
                             options.source.empty() ? "" : "; ", format, options.valid, options.seed);
  info.licence = options.licence;
  info.encoding =
      options.normalise ? normalising(train, info.dim, rest) : core::Encoding{core::NumberType::uint8, 1.f / 255};
  std::vector<std::uint32_t> all(test.labels.size());
  std::iota(all.begin(), all.end(), 0u);
  DatasetWriter writer(options.out, info);
  write(writer, Subset::train, train, info.dim, rest);
  write(writer, Subset::valid, train, info.dim, valid);
  write(writer, Subset::test, test, info.dim, all);
  return writer.finish();
}

}  // namespace paragrad::data
