#include "data/sample_import.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "core/range.hpp"
#include "data/writer.hpp"

namespace paragrad::data {
namespace {

using Units = std::vector<std::uint32_t>;  // numbers of sequences, or of samples where there are none, rising

/// The rows of each sequence or sample of a set.
class UnitRows {
 public:
  UnitRows(const ImportedSamples& set, std::size_t dim) : samples_(set.count(dim)), sequences_(!set.lengths.empty()) {
    if (sequences_) begins_.push_back(0);
    for (const std::size_t length : set.lengths) begins_.push_back(begins_.back() + length);
  }

  std::size_t count() const { return sequences_ ? begins_.size() - 1 : samples_; }
  bool sequences() const { return sequences_; }
  const char* what() const { return sequences_ ? "sequences" : "samples"; }
  core::Range of(std::size_t unit) const {
    return sequences_ ? core::Range{begins_[unit], begins_[unit + 1]} : core::Range{unit, unit + 1};
  }

 private:
  std::size_t samples_;
  bool sequences_;
  std::vector<std::size_t> begins_;
};

/// Rows of an array with `width` elements each, to be written together.
template <class T>
class Rows {
 public:
  Rows(const std::vector<T>& all, std::size_t width) : all_(all), width_(width) {}
  void add(core::Range rows) {
    const auto mine = std::span(all_).subspan(rows.begin * width_, rows.size() * width_);
    some_.insert(some_.end(), mine.begin(), mine.end());
  }
  std::span<const T> span() const { return some_; }
  void clear() { some_.clear(); }

 private:
  const std::vector<T>& all_;
  std::size_t width_;
  std::vector<T> some_;
};

template <class T, class Answer>
void write_rows(DatasetWriter& writer, Rows<T> features, Rows<Answer> answers, const UnitRows& rows, const Units& units) {
  constexpr std::size_t rows_at_once = 1024;
  std::size_t count = 0;
  const auto flush = [&] {
    writer.append(features.span(), answers.span());
    features.clear();
    answers.clear();
    count = 0;
  };
  for (const std::uint32_t unit : units) {
    const core::Range range = rows.of(unit);
    features.add(range);
    answers.add(range);
    count += range.size();
    if (rows.sequences() || count >= rows_at_once) flush();
    if (rows.sequences()) writer.end_sequence();
  }
  if (count > 0) flush();
}

void write(DatasetWriter& writer, Subset subset, const ImportedSamples& from, const DatasetInfo& info, const Units& units) {
  const UnitRows rows(from, info.dim);
  std::size_t samples = 0;
  for (const std::uint32_t unit : units) samples += rows.of(unit).size();
  writer.begin(subset, samples);
  const auto write_features = [&]<class T>(const Rows<T>& features) {
    info.targets > 0 ? write_rows(writer, features, Rows(from.targets, info.targets), rows, units)
                     : write_rows(writer, features, Rows(from.labels, 1), rows, units);
  };
  info.encoding.type == core::NumberType::uint8 ? write_features(Rows(from.pixels, info.dim))
                                                : write_features(Rows(from.values, info.dim));
}

Units all_of(const ImportedSamples& set, std::size_t dim) {
  Units units(UnitRows(set, dim).count());
  std::iota(units.begin(), units.end(), 0u);
  return units;
}

/// Units of the training set: those that remain there, those for validation and those for the test.
std::array<Units, 3> draw(std::size_t count, const SampleImportOptions& options) {
  const core::RandomStream stream(options.seed, core::Purpose::validation_split);
  const Units order = stream.permutation(static_cast<std::uint32_t>(count));
  const auto valid = order.begin() + static_cast<std::ptrdiff_t>(options.valid),
             test = valid + static_cast<std::ptrdiff_t>(options.test);
  std::array<Units, 3> parts{Units(test, order.end()), Units(order.begin(), valid), Units(valid, test)};
  for (Units& part : parts) std::ranges::sort(part);
  return parts;
}

void check_set_aside(const SampleImportOptions& options, const ImportedSubsets& subsets, const UnitRows& train) {
  const std::array<std::size_t, 3> set_aside{0, options.valid, options.test};
  for (const std::size_t i : {1u, 2u})
    if (set_aside[i] > 0 && !subsets[i].empty())
      throw core::ConfigError(
          core::format("there is a {} set of its own, so none is drawn from the training set: leave out `{}`",
                       i == 1 ? "validation" : "test", subset_names[i]));
  const std::size_t count = train.count();
  if (options.valid >= count || options.test >= count - options.valid)
    throw core::ConfigError(core::format(
        "setting aside {} {} for validation{} uses up all {} training {}; choose fewer", options.valid, train.what(),
        options.test > 0 ? core::format(" and {} for the test", options.test) : "", count, train.what()));
}

/// The scale and offset that give these numbers mean 0 and variance 1.
template <class T>
core::Encoding normalising(const std::vector<T>& features, const ImportedSamples& train, const DatasetInfo& info,
                           const Units& units) {
  const UnitRows rows(train, info.dim);
  const auto mean_of = [&](const auto& function) {
    double sum = 0;
    std::size_t samples = 0;
    for (const std::uint32_t unit : units) {
      const core::Range range = rows.of(unit);
      samples += range.size();
      for (const double x : std::span(features).subspan(range.begin * info.dim, range.size() * info.dim)) sum += function(x);
    }
    return sum / static_cast<double>(samples * info.dim);
  };
  const double some = features[rows.of(units.front()).begin * info.dim];  // equal numbers differ from it by exactly 0
  const double mean = some + mean_of([&](double x) { return x - some; });
  const double variance = mean_of([&](double x) { return (x - mean) * (x - mean); });
  if (!(variance > 0)) throw core::ConfigError("all features of the training set are the same: they cannot be normalised");
  const double scale = 1 / std::sqrt(variance);
  return {info.encoding.type, static_cast<float>(scale), static_cast<float>(-mean * scale)};
}

/// Gives each feature mean 0 and variance 1 over these units of the training set.
void normalise_each(ImportedSubsets& subsets, std::size_t dim, const Units& units) {
  const UnitRows rows(subsets[0], dim);
  std::vector<double> means(dim, 0), variances(dim, 0);
  double samples = 0;
  const auto each_row = [&](const auto& body) {
    for (const std::uint32_t unit : units)
      for (std::size_t row = rows.of(unit).begin; row < rows.of(unit).end; ++row) body(subsets[0].values.data() + row * dim);
  };
  each_row([&](const float* row) {
    ++samples;
    for (std::size_t d = 0; d < dim; ++d) means[d] += row[d];
  });
  for (double& mean : means) mean /= samples;
  each_row([&](const float* row) {
    for (std::size_t d = 0; d < dim; ++d) variances[d] += (row[d] - means[d]) * (row[d] - means[d]);
  });
  for (ImportedSamples& set : subsets)
    for (std::size_t i = 0; i < set.values.size(); ++i) {
      const std::size_t d = i % dim;
      const double variance = variances[d] / samples, centred = set.values[i] - means[d];
      set.values[i] = static_cast<float>(variance > 0 ? centred / std::sqrt(variance) : centred);
    }
}

/// Sets the encoding and, where each feature is normalised by itself, changes the values.
void scale(const SampleImportOptions& options, DatasetInfo& info, ImportedSubsets& subsets, const Units& units) {
  const bool bytes = info.encoding.type == core::NumberType::uint8;
  info.encoding = {info.encoding.type, bytes ? 1.f / 255 : 1.f};
  if (!options.normalise) return;
  if (bytes)
    info.encoding = normalising(subsets[0].pixels, subsets[0], info, units);
  else if (info.image)
    info.encoding = normalising(subsets[0].values, subsets[0], info, units);
  else
    normalise_each(subsets, info.dim, units);
}

std::string source_of(const SampleImportOptions& options, const std::string& format, const char* what) {
  std::string source = core::format("{}{}{}", options.source, options.source.empty() ? "" : "; ", format);
  for (const auto& [count, purpose] : {std::pair{options.valid, "validation"}, {options.test, "the test"}})
    if (count > 0)
      source += core::format("; {} {} of the training set drawn for {} with seed {}", count, what, purpose, options.seed);
  return source;
}

}  // namespace

DatasetInfo write_samples(const SampleImportOptions& options, DatasetInfo info, const std::string& format,
                          ImportedSubsets subsets) {
  const UnitRows train(subsets[0], info.dim);
  check_set_aside(options, subsets, train);
  const std::array<Units, 3> drawn = draw(train.count(), options);
  info.name = options.name;
  info.source = source_of(options, format, train.what());
  info.licence = options.licence;
  info.encoding.type = subsets[0].values.empty() ? core::NumberType::uint8 : core::NumberType::float32;
  scale(options, info, subsets, drawn[0]);
  DatasetWriter writer(options.out, info);
  for (const Subset subset : {Subset::train, Subset::valid, Subset::test}) {
    const std::size_t i = static_cast<std::size_t>(subset);
    const bool own = subset != Subset::train && !subsets[i].empty();
    write(writer, subset, subsets[own ? i : 0], info, own ? all_of(subsets[i], info.dim) : drawn[i]);
  }
  return writer.finish();
}

}  // namespace paragrad::data
