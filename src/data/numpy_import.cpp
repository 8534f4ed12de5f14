#include "data/numpy_import.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/memory.hpp"
#include "core/options.hpp"
#include "core/sha256.hpp"
#include "data/csv_header.hpp"
#include "data/npy.hpp"
#include "data/numpy_array_names.hpp"
#include "data/numpy_files.hpp"
#include "data/padded_sequences.hpp"
#include "data/rounded_columns.hpp"
#include "data/text_labels.hpp"

namespace paragrad::data {
namespace {

class NumpyImport {
 public:
  explicit NumpyImport(const ImportNumpyOptions& options)
      : options_(options), files_(open_numpy_files(options.from)), names_(options.from, options.arrays, *files_) {
    core::require_valid(options);
  }

  Imported run() {
    ImportedSubsets subsets;
    for (const Subset subset : {Subset::train, Subset::valid, Subset::test})
      subsets[static_cast<std::size_t>(subset)] = read(subset);
    if (has_names_)
      names_of_classes_.to_classes(options_.from, info_, subsets);
    else if (info_.widths.targets == 0)
      info_.classes = options_.classes > 0 ? options_.classes
                      : one_hot_ > 0       ? one_hot_
                                           : static_cast<std::size_t>(std::ranges::max(subsets[0].labels)) + 1;
    report();
    return write_samples(options_, std::move(info_), "NumPy", std::move(subsets));
  }

 private:
  ImportedSamples read(Subset subset) {
    ImportedSamples samples;
    const std::string x = names_.of(feature_arrays, subset), y = names_.of(label_arrays, subset),
                      frames = names_.of(length_arrays, subset);
    if (x.empty() && subset == Subset::train)
      throw core::ConfigError(core::format("'{}' contains none of {}: name its arrays (`arrays` x_train=NAME,y_train=NAME)",
                                           options_.from, core::join(usual_names(feature_arrays, subset), ", ")));
    if (x.empty() != y.empty())
      throw core::ConfigError(core::format("'{}' contains '{}' but no {} (usually '{}'): name them with `arrays`",
                                           options_.from, x.empty() ? y : x,
                                           x.empty() ? "features for it" : "labels or targets for it",
                                           usual_name(x.empty() ? feature_arrays : label_arrays, subset)));
    if (x.empty()) {
      for_extra_columns([&](const auto& column) {
        if (!names_.of(column_arrays(column.name), subset).empty())
          throw core::ConfigError(core::format("'{}' contains '{}' but no features for it: name them with `arrays` {}=NAME",
                                               options_.from, names_.of(column_arrays(column.name), subset),
                                               usual_name(feature_arrays, subset)));
      });
      return samples;
    }
    if (options_.layout == "sequences") {
      read_sequences(x, y, frames, subset, samples);
      return samples;
    }
    take(x, [&](const NpyArray& array) { read_features(array, subset, samples); });
    take(y, [&](const NpyArray& array) { read_answers(array, subset, samples); });
    if (subset != Subset::train && frames.empty() != names_.of(length_arrays, Subset::train).empty())
      throw core::ConfigError(core::format("only some sets of '{}' consist of sequences: '{}' is {}", options_.from,
                                           usual_name(length_arrays, subset),
                                           frames.empty() ? "missing" : "there without 'lengths_train'"));
    if (!frames.empty()) take(frames, [&](const NpyArray& array) { read_lengths(array, samples); });
    read_columns(subset, samples, [](const NpyArray& array) { return array; });
    return samples;
  }

  /// Of features [sequences][frames][features], of which each sequence may use only the first, and answers for each frame
  /// or, the same for all of its frames, for each sequence.
  void read_sequences(const std::string& x, const std::string& y, const std::string& lengths, Subset subset,
                      ImportedSamples& samples) {
    if (!lengths.empty()) take(lengths, [&](const NpyArray& array) { read_each_length(array, samples); });
    std::optional<PaddedSequences> sequences;
    take(x, [&](const NpyArray& array) {
      sequences.emplace(array, samples.lengths, lengths);
      read_features(sequences->features(array), subset, samples);
    });
    const auto of_frames = [&](const NpyArray& array) {
      if (sequences->has_value_of_sequence(array) && subset == Subset::train)
        info_.taken.push_back(core::format("{}: of each sequence, the same for all of its frames", array.name));
      return sequences->values(array);
    };
    take(y, [&](const NpyArray& array) { read_answers(of_frames(array), subset, samples); });
    read_columns(subset, samples, of_frames);
  }

  /// Of extra columns. of_rows(array): the array with a value for each row.
  template <class OfRows>
  void read_columns(Subset subset, ImportedSamples& samples, const OfRows& of_rows) {
    const auto read = [&]<class T>(const ColumnInfo<T>& column, std::vector<T>& values, std::size_t& width) {
      const std::string name = names_.of(column_arrays(column.name), subset);
      if (subset == Subset::train && !name.empty()) width = 1;
      if (name.empty() && width == 0) return;
      if (name.empty() && column.role == ColumnRole::divides) return values.resize(rows_);
      if (name.empty() || width == 0)
        throw core::ConfigError(core::format("only some sets of '{}' have {}: '{}' is {}", options_.from, column.name,
                                             usual_name(column_arrays(column.name), subset),
                                             name.empty() ? "missing" : "there, but not that of the training set"));
      take(name, [&](const NpyArray& array) { read_column(column, of_rows(array), values); });
    };
    for_extra_columns(read, samples.columns, info_.widths);
  }

  template <class T>
  void read_column(const ColumnInfo<T>& column, const NpyArray& array, std::vector<T>& values) const {
    if ((std::is_integral_v<T> ? !array.whole() : array.is_text()) || array.shape.empty() || array.shape[0] != rows_ ||
        array.elements() != rows_)
      throw core::ConfigError(core::format("the {} '{}' are {} of the shape {}: give a {} for each of the {} samples",
                                           column.name, array.name, array.dtype(), core::join(array.shape, "x"),
                                           std::is_integral_v<T> ? "whole number" : "number", rows_));
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::optional<T> value = element<T>(array, i);
      if (!value || !column.is_valid(*value))
        throw core::ConfigError(
            core::format("{} is {}, but a {} is {}", array.place(i), array.number(i), column.one, column.what));
      values.push_back(*value);
    }
  }

  /// Nothing for a whole number that does not fit.
  template <class T>
  static std::optional<T> element(const NpyArray& array, std::size_t i) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(finite(array, i));
    } else {
      const std::int64_t number = array.integer(i);
      return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
    }
  }

  template <class Use>
  void take(const std::string& name, const Use& use) {
    const NumpyFile file = files_->read(name);
    const NpyArray array = parse_npy(file.bytes(), name);
    info_.source_sha256.push_back(core::format("{}.npy: {}", name, core::sha256(file.bytes())));
    file.drop(file.bytes());
    arrays_.push_back(core::format("{} ({} {})", name, core::join(array.shape, "x"), array.dtype()));
    file_ = &file;
    use(array);
  }

  void report() {
    info_.taken.push_back(core::format("arrays: {}", core::join(arrays_, ", ")));
    if (const auto left_out = names_.left_out(*files_); !left_out.empty())
      info_.warnings.push_back(
          core::format("left out {} of another name: {}; `arrays` says what they are, as in x_valid=NAME",
                       several(left_out.size(), "array"), some_of(left_out)));
    if (const auto others = files_->others(); !others.empty())
      info_.warnings.push_back(core::format("left out {} that {} no NumPy array: {}", several(others.size(), "name"),
                                            others.size() == 1 ? "is" : "are", some_of(others)));
    if (info_.widths.targets > 0 && whole_targets_)
      info_.warnings.push_back("the targets are whole numbers: if they are classes, convert them to integers");
    warn_of_rounding(info_, feature_rounding_, target_rounding_,
                     [](std::size_t i) { return core::format("target {}", i + 1); });
  }

  void read_features(const NpyArray& array, Subset subset, ImportedSamples& samples) {
    const std::vector<std::size_t>& shape = array.shape;
    if (array.is_text()) throw core::ConfigError(core::format("the array '{}' contains texts, not numbers", array.name));
    if (shape.size() < 2 || shape.size() > 4 || array.elements() == 0)
      throw core::ConfigError(
          core::format("the array '{}' does not contain samples: its shape is {}, not samples and features, or samples, "
                       "height, width and perhaps channels",
                       array.name, core::join(shape, "x")));
    const bool bytes = array.kind == 'u' && array.element_bytes == 1;
    check_alike(array, bytes, subset);
    rows_ = shape[0];
    const bool exact = options_.normalise && !bytes;
    const auto [type, size] = bytes   ? std::pair("uint8", sizeof(std::uint8_t))
                              : exact ? std::pair("float64", sizeof(double))
                                      : std::pair("float32", sizeof(float));
    core::require_memory(static_cast<double>(array.elements() * size),
                         core::format("the array '{}' of '{}' as {}", array.name, options_.from, type));
    bytes   ? samples.pixels.reserve(array.elements())
    : exact ? samples.exact.reserve(array.elements())
            : samples.values.reserve(array.elements());
    constexpr std::size_t at_once = std::size_t{1} << 22;
    for (std::size_t i = 0; i < array.elements(); ++i) {
      if (i % at_once == 0 && !array.fortran_order)
        file_->drop(array.data.first(i * array.element_bytes));  // the samples take as much
      const std::size_t from = channels_first(shape) ? with_channels_last(i) : i;
      if (bytes)
        samples.pixels.push_back(static_cast<std::uint8_t>(array.integer(from)));
      else if (exact)
        samples.exact.push_back(finite(array, from));
      else
        samples.values.push_back(feature_rounding_.round(i % info_.dim, finite(array, from)));
    }
  }

  static double finite(const NpyArray& array, std::size_t i) {
    const double value = array.number(i);
    if (!std::isfinite(value))
      throw core::ConfigError(core::format("{} is {}, which is not a finite number", array.place(i),
                                           std::isnan(value) ? std::abs(value) : value));
    if (std::abs(value) > std::numeric_limits<float>::max())
      throw core::ConfigError(core::format("{} is {}, which is too large for float32", array.place(i), value));
    return value;
  }

  bool channels_first(const std::vector<std::size_t>& shape) const {
    return shape.size() == 4 && options_.layout == "channels-first";
  }

  /// Where the element of [samples][height][width][channels] is in [samples][channels][height][width].
  std::size_t with_channels_last(std::size_t i) const {
    const std::size_t pixels = info_.image->height * info_.image->width, channels = info_.image->channels;
    const std::size_t sample = i / info_.dim, pixel = i % info_.dim / channels, channel = i % channels;
    return (sample * channels + channel) * pixels + pixel;
  }

  std::optional<ImageShape> image_of(const NpyArray& array) const {
    const std::vector<std::size_t>& shape = array.shape;
    if (options_.layout == "sequences") return std::nullopt;
    if (shape.size() < 4 && options_.layout != "auto")
      throw core::ConfigError(core::format("`layout` is for images with channels, and the shape of '{}' is {}: leave it out",
                                           array.name, core::join(shape, "x")));
    if (shape.size() < 3) return std::nullopt;
    if (shape.size() == 3) return ImageShape{shape[1], shape[2], 1};
    const auto few = [](std::size_t size) { return size <= 4; };
    if (options_.layout == "auto" && few(shape[1]) && !few(shape[3]))
      throw core::ConfigError(core::format(
          "the channels of the images '{}', whose shape is {}, come either first, as in PyTorch, or last: say with `layout` "
          "channels-first or channels-last",
          array.name, core::join(shape, "x")));
    return channels_first(shape) ? ImageShape{shape[2], shape[3], shape[1]} : ImageShape{shape[1], shape[2], shape[3]};
  }

  /// Sets the form of the samples, or checks that it is the same.
  void check_alike(const NpyArray& array, bool bytes, Subset subset) {
    const std::vector<std::size_t>& shape = array.shape;
    const std::size_t dim = array.elements() / shape[0];
    const std::optional<ImageShape> image = image_of(array);
    if (subset == Subset::train) {
      feature_rounding_ = RoundedColumns(dim);
      info_.dim = dim;
      info_.image = image;
      bytes_ = bytes;
    } else if (info_.dim != dim || info_.image != image) {
      throw core::ConfigError(
          core::format("the samples of '{}' differ in size from those of the training set: their shape is {}", array.name,
                       core::join(shape, "x")));
    } else if (bytes_ != bytes) {
      throw core::ConfigError(core::format("'{}' is {}, but the training set is {}: convert both to the same type",
                                           array.name, array.dtype(), bytes_ ? "uint8" : "not uint8"));
    }
  }

  /// Integers, one-hot rows of integers and texts are labels; floating-point numbers are targets.
  void read_answers(const NpyArray& array, Subset subset, ImportedSamples& samples) {
    const std::vector<std::size_t>& shape = array.shape;
    const std::size_t columns = shape.size() == 2 ? shape[1] : 1;
    const bool real = !array.whole() && !array.is_text();
    if (array.whole() && columns > 1 && shape[0] == rows_) return read_one_hot(array, subset, samples);
    if (shape.empty() || shape.size() > 2 || shape[0] != rows_ || (real ? columns == 0 : columns != 1))
      throw core::ConfigError(core::format(
          "the array '{}' of {} has the shape {}, but there are {} samples, each of which has an integer or a text as its "
          "label, or any number of floating-point numbers as targets",
          array.name, array.dtype(), core::join(shape, "x"), rows_));
    if (subset == Subset::train && real) {
      info_.widths.targets = columns;
      target_rounding_ = RoundedColumns(columns);
    }
    const auto named = [](std::size_t targets) {
      return targets == 0 ? "a label" : core::format("{} target{}", targets, targets > 1 ? "s" : "");
    };
    if (const std::size_t mine = real ? columns : 0; mine != info_.widths.targets)
      throw core::ConfigError(core::format("'{}' has {} per sample, but the training set has {}", array.name, named(mine),
                                           named(info_.widths.targets)));
    if (real && options_.classes > 0)
      throw core::ConfigError(
          core::format("'{}' contains {}, so they are targets and not one of {} classes: leave out `classes`, or convert "
                       "them to integers",
                       array.name, array.dtype(), options_.classes));
    if (!real) return read_labels(array, subset, samples);
    core::require_memory(static_cast<double>(array.elements()) * sizeof(float),
                         core::format("the array '{}' of '{}' as float32", array.name, options_.from));
    samples.columns.targets.resize(array.elements());
    for (std::size_t i = 0; i < array.elements(); ++i) {
      const double target = finite(array, i);
      whole_targets_ = whole_targets_ && target >= 0 && target < most_classes && std::floor(target) == target;
      samples.columns.targets[i] = target_rounding_.round(i % columns, target);
    }
  }

  /// The names of the classes, if the labels are texts.
  void read_names(const NpyArray& array, ImportedSamples& samples) {
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::string text = array.text(i);
      if (is_missing_value(text))
        throw core::ConfigError(core::format(
            "{} is the label '{}', which usually means that it is missing: leave the sample out", array.place(i), text));
      const auto number = names_of_classes_.add(text, i, std::nullopt);
      if (!number)
        throw core::ConfigError(core::format("{} is the label '{}', but the classes of the training set are {}",
                                             array.place(i), text, some_of(names_of_classes_.texts())));
      samples.labels.push_back(*number);
    }
    names_of_classes_.close();
  }

  void read_one_hot(const NpyArray& array, Subset subset, ImportedSamples& samples) {
    const std::size_t columns = array.shape[1];
    for (std::size_t row = 0; row < rows_; ++row) {
      std::size_t ones = 0, zeros = 0, at = 0;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::int64_t value = array.integer(row * columns + c);
        if (value == 1) at = c;
        ones += value == 1;
        zeros += value == 0;
      }
      if (ones != 1 || ones + zeros != columns)
        throw core::ConfigError(
            core::format("row {} of '{}', whose shape is {}, is not one-hot: give a label for each sample, or "
                         "floating-point numbers as targets{}",
                         row, array.name, core::join(array.shape, "x"),
                         info_.image ? "; if x is sequences x frames x features, give `layout` sequences" : ""));
      samples.labels.push_back(static_cast<std::int32_t>(at));
    }
    if (subset == Subset::train) {
      one_hot_ = columns;
      info_.taken.push_back(core::format("{}: one-hot labels of {} classes", array.name, columns));
    }
    if (columns != one_hot_ || info_.widths.targets > 0)
      throw core::ConfigError(
          core::format("'{}' holds one-hot labels of {} classes, unlike the training set", array.name, columns));
  }

  void read_labels(const NpyArray& array, Subset subset, ImportedSamples& samples) {
    if (subset == Subset::train) has_names_ = array.is_text();
    if (has_names_ != array.is_text())
      throw core::ConfigError(core::format("the labels '{}' are {}, but those of the training set are {}", array.name,
                                           array.dtype(), has_names_ ? "texts" : "integers"));
    if (has_names_ && options_.classes > 0)
      throw core::ConfigError("`classes` is for labels that are numbers, and these are names: leave it out");
    if (has_names_) return read_names(array, samples);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int64_t label = array.integer(i);
      if (label < 0 || label >= std::numeric_limits<std::int32_t>::max())
        throw core::ConfigError(core::format("{} is the label {}, which is no class (targets are floating-point numbers)",
                                             array.place(i), array.text(i)));
      if (options_.classes == 0)
        check_number_of_classes(static_cast<std::size_t>(label) + 1,
                                core::format("{}, which is the label {},", array.place(i), label),
                                "number the classes from 0, or convert real-valued targets to floating-point numbers");
      samples.labels.push_back(static_cast<std::int32_t>(label));
    }
  }

  void read_lengths(const NpyArray& array, ImportedSamples& samples) const {
    if (info_.image)
      throw core::ConfigError(
          core::format("the sequences of '{}' consist of images: give the features of frames as [frames][features], or "
                       "`layout` sequences if "
                       "they are sequences x frames x features",
                       options_.from));
    read_each_length(array, samples);
    std::size_t sum = 0;
    for (const std::size_t length : samples.lengths) sum += std::min(length, rows_ + 1);  // does not overflow
    if (sum != rows_)
      throw core::ConfigError(core::format("the lengths '{}' {}, but there are {} samples", array.name,
                                           sum > rows_ ? "add up to more" : core::format("add up to {}", sum), rows_));
  }

  static void read_each_length(const NpyArray& array, ImportedSamples& samples) {
    if (array.shape.size() != 1 || !array.whole())
      throw core::ConfigError(core::format("the lengths '{}' are {} of the shape {}: give one integer for each sequence",
                                           array.name, array.dtype(), core::join(array.shape, "x")));
    for (std::size_t i = 0; i < array.elements(); ++i) {
      const std::int64_t length = array.integer(i);
      if (length < 1)
        throw core::ConfigError(core::format("{} is {}: a sequence has a frame or more", array.place(i), length));
      samples.lengths.push_back(static_cast<std::size_t>(length));
    }
  }

  const ImportNumpyOptions& options_;
  std::unique_ptr<NumpyFiles> files_;
  ArrayNames names_;
  Imported info_;
  std::vector<std::string> arrays_;  // that were read
  const NumpyFile* file_ = nullptr;  // of the array that is being read
  TextLabels names_of_classes_;
  bool has_names_ = false;   // whether labels are texts
  std::size_t one_hot_ = 0;  // classes of one-hot labels
  RoundedColumns feature_rounding_{0}, target_rounding_{0};
  bool whole_targets_ = true;  // which may be numbers of classes
  bool bytes_ = false;         // whether the training set is of uint8
  std::size_t rows_ = 0;       // samples of the set that is being read
};

}  // namespace

Imported import_numpy(const ImportNumpyOptions& options) { return NumpyImport(options).run(); }

}  // namespace paragrad::data
