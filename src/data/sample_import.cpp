#include "data/sample_import.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/options.hpp"
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

/// Like Rows, of all columns.
class RowsOfColumns {
 public:
  RowsOfColumns(const ColumnValues& all, const ColumnWidths& widths) : all_(all), widths_(widths) {}
  void add(core::Range rows) {
    const auto add = [&]<class T>(const ColumnInfo<T>&, const std::vector<T>& all, std::vector<T>& some, std::size_t width) {
      const auto mine = std::span(all).subspan(rows.begin * width, rows.size() * width);
      some.insert(some.end(), mine.begin(), mine.end());
    };
    for_columns(add, all_, some_, widths_);
  }
  ColumnViews views() const { return views_of(some_); }
  void clear() {
    for_columns([](const auto&, auto& values) { values.clear(); }, some_);
  }

 private:
  const ColumnValues& all_;
  const ColumnWidths& widths_;
  ColumnValues some_;
};

template <class T>
void write_rows(DatasetWriter& writer, Rows<T> features, Rows<std::int32_t> labels, RowsOfColumns columns,
                const UnitRows& rows, const Units& units) {
  constexpr std::size_t rows_at_once = 1024;
  std::size_t count = 0;
  const auto flush = [&] {
    writer.append(features.span(), labels.span(), columns.views());
    features.clear();
    labels.clear();
    columns.clear();
    count = 0;
  };
  for (const std::uint32_t unit : units) {
    const core::Range range = rows.of(unit);
    features.add(range);
    labels.add(range);
    columns.add(range);
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
  const auto write_with = [&]<class T>(const Rows<T>& features) {
    write_rows(writer, features, Rows(from.labels, info.classes > 0 ? 1 : 0), RowsOfColumns(from.columns, info.widths), rows,
               units);
  };
  info.encoding.type == core::NumberType::uint8 ? write_with(Rows(from.pixels, info.dim))
                                                : write_with(Rows(from.values, info.dim));
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
    throw core::ConfigError(
        core::format("setting aside {} {} for validation{} uses up all {} training {}: give a smaller `valid`{}",
                     options.valid, train.what(), options.test > 0 ? core::format(" and {} for the test", options.test) : "",
                     count, train.what(), options.test > 0 ? " or `test`" : ""));
}

struct Spread {
  double mean, deviation;
};

/// Of these features of the units of the training set, all together.
template <class T>
Spread spread_of(const std::vector<T>& features, const ImportedSamples& train, std::size_t dim, const Units& units) {
  const UnitRows rows(train, dim);
  const auto mean_of = [&](const auto& function) {
    double sum = 0;
    std::size_t samples = 0;
    for (const std::uint32_t unit : units) {
      const core::Range range = rows.of(unit);
      samples += range.size();
      for (const double x : std::span(features).subspan(range.begin * dim, range.size() * dim)) sum += function(x);
    }
    return sum / static_cast<double>(samples * dim);
  };
  const double some = features[rows.of(units.front()).begin * dim];  // equal numbers differ from it by exactly 0
  const double mean = some + mean_of([&](double x) { return x - some; });
  const double variance = mean_of([&](double x) { return (x - mean) * (x - mean); });
  if (!(variance > 0)) throw core::ConfigError("all features of the training set are the same: they cannot be normalised");
  return {mean, std::sqrt(variance)};
}

/// Mean and standard deviation (1 if it is 0) of each feature over these units of the training set.
class Moments {
 public:
  Moments(const ImportedSamples& train, std::size_t dim, const Units& units)
      : means_(dim, 0), deviations_(dim, 0), dim_(dim) {
    const UnitRows rows(train, dim);
    const std::size_t first = rows.of(units.front()).begin;  // equal numbers differ from the first by exactly 0
    double samples = 0;
    const auto each = [&](const auto& body) {
      for (const std::uint32_t unit : units)
        for (std::size_t row = rows.of(unit).begin; row < rows.of(unit).end; ++row)
          for (std::size_t d = 0; d < dim; ++d) body(d, train.exact[row * dim + d]);
    };
    for (const std::uint32_t unit : units) samples += static_cast<double>(rows.of(unit).size());
    each([&](std::size_t d, double x) { means_[d] += x - train.exact[first * dim + d]; });
    for (std::size_t d = 0; d < dim; ++d) means_[d] = train.exact[first * dim + d] + means_[d] / samples;
    each([&](std::size_t d, double x) { deviations_[d] += (x - means_[d]) * (x - means_[d]); });
    for (double& deviation : deviations_) deviation = deviation > 0 ? std::sqrt(deviation / samples) : 1;
  }

  double normalised(std::size_t element, double x) const {
    const std::size_t d = element % dim_;
    return (x - means_[d]) / deviations_[d];
  }

 private:
  std::vector<double> means_, deviations_;
  std::size_t dim_;
};

/// Replaces the exact features by normalised ones in float32: those of images all together, or else each feature by itself.
void normalise(ImportedSubsets& subsets, const DatasetInfo& info, const Units& units) {
  const auto replace = [&](const auto& normalised) {
    for (ImportedSamples& set : subsets) {
      set.values.resize(set.exact.size());
      for (std::size_t i = 0; i < set.exact.size(); ++i) set.values[i] = static_cast<float>(normalised(i, set.exact[i]));
      std::vector<double>().swap(set.exact);
    }
  };
  if (info.image) {
    const Spread all = spread_of(subsets[0].exact, subsets[0], info.dim, units);
    replace([&](std::size_t, double x) { return (x - all.mean) / all.deviation; });
  } else {
    const Moments each(subsets[0], info.dim, units);
    replace([&](std::size_t i, double x) { return each.normalised(i, x); });
  }
}

/// The factor of uint8 features that are not normalised.
float scale_of_bytes(const SampleImportOptions& options, const DatasetInfo& info, const ImportedSubsets& subsets) {
  if (options.scale == "bytes") return 1.f / 255;
  if (options.scale == "none") return 1;
  std::uint8_t most = 0;
  for (const ImportedSamples& set : subsets)
    if (!set.empty()) most = std::max(most, std::ranges::max(set.pixels));
  if (most <= 1) return 1;
  if (!info.image && most < 255)
    throw core::ConfigError(core::format(
        "the features are a table of uint8 of which the largest is {}: give `scale` none to take them as they are, "
        "or bytes if they are brightness, of which 255 is to be 1",
        most));
  return 1.f / 255;
}

/// Sets the encoding of uint8 features, and normalises others.
void scale(const SampleImportOptions& options, Imported& info, ImportedSubsets& subsets, const Units& units) {
  if (subsets[0].pixels.empty()) {
    if (options.scale != "auto")
      throw core::ConfigError("`scale` is for features of uint8, and these are of another type: leave it out");
    info.encoding = {core::NumberType::float32};
    if (options.normalise) normalise(subsets, info, units);
  } else if (options.normalise) {
    const Spread all = spread_of(subsets[0].pixels, subsets[0], info.dim, units);
    const double scale = 1 / all.deviation;
    info.encoding = {core::NumberType::uint8, static_cast<float>(scale), static_cast<float>(-all.mean * scale)};
  } else {
    info.encoding = {core::NumberType::uint8, scale_of_bytes(options, info, subsets)};
    const std::uint8_t most = std::ranges::max(subsets[0].pixels);
    if (info.encoding.scale != 1 && most < 64 && options.scale == "auto")
      info.warnings.push_back(
          core::format("the largest pixel is {} of 255, so the network sees at most {:.2g}: `scale` none takes "
                       "pixels as they are",
                       most, most * info.encoding.scale));
  }
}

/// The features that rise by one from each sample to the next, as the index of a table does.
std::vector<std::size_t> counting_features(const ImportedSamples& train, std::size_t dim) {
  std::vector<std::size_t> counting(dim);
  std::iota(counting.begin(), counting.end(), std::size_t{0});
  const auto number = [&](std::size_t row, std::size_t d) {
    return train.exact.empty() ? static_cast<double>(train.values[row * dim + d]) : train.exact[row * dim + d];
  };
  const std::size_t samples = train.pixels.empty() ? train.count(dim) : 0;
  for (std::size_t row = 1; row < samples && !counting.empty(); ++row)
    std::erase_if(counting, [&](std::size_t d) { return number(row, d) - number(row - 1, d) != 1; });
  constexpr std::size_t few = 5;
  return samples < few || dim == 1 ? std::vector<std::size_t>{} : counting;
}

void warn_of_indices(Imported& info, const ImportedSamples& train) {
  for (const std::size_t d : counting_features(train, info.dim))
    info.warnings.push_back(
        core::format("{} counts the samples, as the index of a table does: is it one of their features?", feature(info, d)));
}

std::string source_of(const SampleImportOptions& options, const std::string& format, const char* what) {
  std::string source = core::format("{}{}{}", options.source, options.source.empty() ? "" : "; ", format);
  for (const auto& [count, purpose] : {std::pair{options.valid, "validation"}, {options.test, "the test"}})
    if (count > 0)
      source += core::format("; {} {} of the training set drawn for {} with seed {}", count, what, purpose, options.seed);
  return source;
}

}  // namespace

Imported write_samples(const SampleImportOptions& options, Imported info, const std::string& format,
                       ImportedSubsets subsets) {
  const UnitRows train(subsets[0], info.dim);
  check_set_aside(options, subsets, train);
  const std::array<Units, 3> drawn = draw(train.count(), options);
  info.name = options.name;
  info.source = source_of(options, format, train.what());
  info.licence = options.licence;
  warn_of_indices(info, subsets[0]);
  scale(options, info, subsets, drawn[0]);
  DatasetWriter writer(options.out, info);
  for (const Subset subset : {Subset::train, Subset::valid, Subset::test}) {
    const std::size_t i = static_cast<std::size_t>(subset);
    const bool own = subset != Subset::train && !subsets[i].empty();
    write(writer, subset, subsets[own ? i : 0], info, own ? all_of(subsets[i], info.dim) : drawn[i]);
  }
  return finish_import(writer, std::move(info));
}

void SampleImportOptions::describe_data_file(core::OptionList& list, bool table) {
  list.text("out", out, "data file to write").path().required();
  list.text("name", name, "name of the data set").required();
  list.text("source", source, "origin of the files, recorded in the data file");
  list.text("licence", licence, "licence of the data, recorded in the data file");
  list.number("valid", valid, core::any_count, "training samples to set aside for validation");
  if (table) list.number("test", test, core::any_count, "training samples to set aside for the test");
  const std::string sets = table ? "validation and test sets" : "validation set";
  list.number("seed", seed, core::any_seed, "random seed for drawing the " + sets)
      .when(valid > 0 || test > 0,
            core::format("is for drawing samples from the training set: give `valid`{} too", table ? " or `test`" : ""));
  list.flag("normalise", normalise,
            table ? "each feature of mean 0 and variance 1 over the training set; of images, and of uint8, all together"
                  : "features of mean 0 and variance 1 over all pixels of the training set, not from 0 to 1");
}

void SampleImportOptions::describe_scale(core::OptionList& list) {
  list.choice("scale", scale, {"auto", "bytes", "none"},
              "how the network sees features of uint8: bytes (255 is 1), none (as they are), or auto, none if no value is "
              "above 1 and otherwise bytes, which a table is only taken for if it contains 255")
      .when(!normalise, "has no effect with `normalise`, which decides the scale: leave it out");
}

}  // namespace paragrad::data
