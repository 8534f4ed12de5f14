#include "data/writer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/file_format.hpp"

namespace paragrad::data {
namespace {

/// Features, `width` of them in a row.
void check_finite(std::span<const float> values, std::size_t width, std::size_t first_row, const std::string& group) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  if (bad == values.end()) return;
  const auto at = static_cast<std::size_t>(bad - values.begin());
  throw core::ConfigError(
      core::format("feature {} of row {} of {} is not a finite number", at % width, first_row + at / width, group));
}

void check_labels(std::span<const std::int32_t> labels, std::size_t classes, std::size_t first_row,
                  const std::string& group) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      throw core::ConfigError(
          core::format("label {} in row {} of {} is out of range for {} classes", labels[i], first_row + i, group, classes));
}

constexpr std::size_t most_bytes_of_names = std::size_t{1} << 20;

/// As they are stored, each as long as the longest.
std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  return longest * texts.size();
}

/// The path, unless it names something else than a data file, such as the table that is being imported.
const std::string& replaceable(const std::string& path) {
  std::error_code missing;
  if (std::filesystem::file_size(path, missing) > 0 && !missing && !Hdf5File::is_one(path))
    throw core::ConfigError(
        core::format("'{}' exists and is not a data file: choose another name for the one to write, or remove it", path));
  return path;
}

}  // namespace

DatasetWriter::DatasetWriter(const std::string& path, DatasetInfo description)
    : file_(Hdf5File::create(replaceable(path))), info_(std::move(description)) {
  if (info_.vocabulary) {
    info_.dim = 1;
    info_.classes = info_.vocabulary->size();
    info_.encoding.type = info_.vocabulary->type();
    info_.text_bytes = {};
  }
  if (info_.dim == 0 || (info_.classes == 0) == (info_.widths.targets == 0))
    throw std::logic_error("DatasetWriter: no features, or neither classes nor targets, or both");
  if (info_.dim % info_.context.frames() != 0 || (!info_.class_names.empty() && info_.class_names.size() != info_.classes))
    throw std::logic_error("DatasetWriter: a context or names of classes that do not fit");
  if (info_.classes > most_classes)
    throw core::ConfigError(
        core::format("there are {} classes, and a network can have {}: give fewer", info_.classes, most_classes));
  training_.samples_of.assign(info_.classes, 0);
  info_.path = path;
  info_.samples = {};
  info_.sequences = {};
}

void DatasetWriter::begin(Subset subset, std::size_t samples) {
  end_subset();
  const auto index = static_cast<std::size_t>(subset);
  if (std::exchange(begun_[index], true)) throw std::logic_error("DatasetWriter: a subset was begun twice");
  subset_ = subset;
  group_ = core::format("/{}", subset_names[index]);
  rows_ = 0;
  offsets_ = {0};
  utterances_.clear();
  speakers_.clear();
  named_ = spoken_ = 0;
  info_.samples[index] = samples;
  if (info_.vocabulary)
    return with_token_type(info_.encoding.type,
                           [&]<class T>(T) { file_.create_array(group_ + "/tokens", element_type_of<T>(), {samples}); });
  const auto type = info_.encoding.type == core::NumberType::uint8 ? ElementType::uint8 : ElementType::float32;
  file_.create_array(group_ + "/features", type, {samples, info_.frame_dim()});
  if (info_.has_labels()) file_.create_array(group_ + "/labels", ElementType::int32, {samples});
  const auto create = [&]<class T>(const ColumnInfo<T>& column, std::size_t width) {
    if (width == 0) return;
    file_.create_array(core::format("{}/{}", group_, column.name), element_type_of<T>(),
                       column.rank == 1 ? std::vector{samples} : std::vector{samples, width});
  };
  for_columns(create, info_.widths);
}

template <class T>
void DatasetWriter::append_features(std::span<const T> features, std::size_t rows) {
  const bool is_uint8 = element_type_of<T>() == ElementType::uint8;
  if (group_.empty() || is_uint8 != (info_.encoding.type == core::NumberType::uint8) ||
      features.size() != rows * info_.frame_dim() || rows > info_.samples[static_cast<std::size_t>(subset_)] - rows_)
    throw std::logic_error("DatasetWriter: rows that were not announced, or of the wrong type or length");
  if constexpr (!std::is_same_v<T, std::uint8_t>) check_finite(features, info_.frame_dim(), rows_, group_);
  if (subset_ == Subset::train && !features.empty()) {
    const auto [least, most] = std::ranges::minmax(features);
    training_.least = std::min(training_.least, static_cast<double>(least));
    training_.most = std::max(training_.most, static_cast<double>(most));
  }
  file_.write_rows(group_ + "/features", rows_, features);
  hash_.add_features(subset_, std::as_bytes(features));
}

void DatasetWriter::append_labels(std::span<const std::int32_t> labels) {
  if (labels.empty()) return;
  check_labels(labels, info_.classes, rows_, group_);
  if (subset_ == Subset::train)
    for (const std::int32_t label : labels) ++training_.samples_of[static_cast<std::size_t>(label)];
  file_.write_rows(group_ + "/labels", rows_, labels);
  hash_.add_labels(subset_, labels);
}

void DatasetWriter::append_columns(const ColumnViews& columns, std::size_t rows) {
  const auto append = [&]<class T>(const ColumnInfo<T>& column, std::span<const T> values, std::size_t width) {
    if (values.size() != rows * width) throw std::logic_error("DatasetWriter: a column of another length");
    if (values.empty()) return;
    check_column(
        column, values, width, [&](std::size_t i) { return rows_ + i; }, "", group_);
    file_.write_rows(core::format("{}/{}", group_, column.name), rows_, values);
  };
  for_columns(append, columns, info_.widths);
  hash_.add_columns(subset_, columns);
}

template <class T>
void DatasetWriter::append_rows(std::span<const T> features, std::span<const std::int32_t> labels,
                                const ColumnViews& columns) {
  const std::size_t rows = features.size() / info_.frame_dim();
  if (labels.size() != (info_.classes > 0 ? rows : 0)) throw std::logic_error("DatasetWriter: labels of another number");
  append_features(features, rows);
  append_labels(labels);
  append_columns(columns, rows);
  rows_ += rows;
}

void DatasetWriter::append(std::span<const std::uint8_t> features, std::span<const std::int32_t> labels,
                           const ColumnViews& columns) {
  append_rows(features, labels, columns);
}
void DatasetWriter::append(std::span<const float> features, std::span<const std::int32_t> labels,
                           const ColumnViews& columns) {
  append_rows(features, labels, columns);
}

void DatasetWriter::append_tokens(std::span<const std::int32_t> tokens, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(subset_);
  const auto is_token = [&](std::int32_t token) { return token >= 0 && static_cast<std::size_t>(token) < info_.classes; };
  if (group_.empty() || !info_.vocabulary || tokens.size() > info_.samples[index] - rows_ ||
      !std::ranges::all_of(tokens, is_token))
    throw std::logic_error("DatasetWriter: tokens that were not announced, or outside the vocabulary");
  with_token_type(info_.encoding.type, [&]<class T>(T) {
    const std::vector<T> stored(tokens.begin(), tokens.end());
    file_.write_rows(group_ + "/tokens", rows_, std::span<const T>(stored));
    hash_.add_features(subset_, std::as_bytes(std::span(stored)));
  });
  rows_ += tokens.size();
  info_.text_bytes[index] += bytes;
}

void DatasetWriter::end_sequence(std::string_view utterance, std::string_view speaker) {
  const auto end = static_cast<std::int64_t>(rows_);
  if (group_.empty() || offsets_.back() >= end) throw std::logic_error("DatasetWriter: a sequence without rows");
  offsets_.push_back(end);
  const auto append = [](std::string_view name, std::string& lines, std::size_t& count) {
    if (name.empty()) return;
    if (name.find('\n') != std::string_view::npos)
      throw core::ConfigError(core::format("'{}' is not a valid name: it contains a line break", name));
    lines.append(name) += '\n';
    ++count;
  };
  append(utterance, utterances_, named_);
  append(speaker, speakers_, spoken_);
}

std::span<const std::byte> DatasetWriter::write_names(const std::string& array, const std::string& names,
                                                      std::size_t count) {
  if (count == 0) return {};
  if (count != offsets_.size() - 1) throw std::logic_error("DatasetWriter: only some sequences have names");
  file_.write(group_ + array, std::span(reinterpret_cast<const std::uint8_t*>(names.data()), names.size()));
  return std::as_bytes(std::span(names));
}

void DatasetWriter::end_subset() {
  if (group_.empty()) return;
  const auto index = static_cast<std::size_t>(subset_);
  if (rows_ != info_.samples[index]) throw std::logic_error("DatasetWriter: fewer rows than announced");
  if (offsets_.size() > 1) {
    if (static_cast<std::size_t>(offsets_.back()) != rows_)
      throw std::logic_error("DatasetWriter: rows after the last sequence");
    info_.sequences[index] = offsets_.size() - 1;
    file_.write(group_ + "/offsets", std::span<const std::int64_t>(offsets_));
    hash_.add_offsets(subset_, offsets_);
    hash_.add_utterances(subset_, write_names("/utterances", utterances_, named_));
    hash_.add_speakers(subset_, write_names("/speakers", speakers_, spoken_));
  } else if (rows_ > 0 && info_.context != Context{}) {
    throw std::logic_error("DatasetWriter: a context needs sequences");
  }
  if (info_.vocabulary) file_.set_count(group_, "bytes", info_.text_bytes[index]);
  group_.clear();
}

void DatasetWriter::write_columns() {
  std::vector<std::string> names;
  const auto write = [&](const auto& column, std::size_t width) {
    if (width == 0) return;
    if (column.rank > 1) file_.set_count("/", std::string(column.name), width);
    names.emplace_back(column.name);
  };
  for_columns(write, info_.widths);
  if (version_of(info_) == version_with_columns) file_.set_texts("/", "columns", names);
}

void DatasetWriter::write_vocabulary() {
  const std::string stored = info_.vocabulary->stored();
  file_.write("/vocabulary", std::span(reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size()));
}

void DatasetWriter::write_root() {
  file_.set_text("/", "format", std::string(format_name));
  file_.set_count("/", "version", version_of(info_));
  file_.set_text("/", "name", info_.name);
  file_.set_text("/", "source", info_.source);
  file_.set_text("/", "licence", info_.licence);
  file_.set_texts("/", "source_sha256", info_.source_sha256);
  file_.set_text("/", "content_sha256", info_.content_sha256);
  if (info_.vocabulary) return write_vocabulary();
  if (info_.classes > 0) file_.set_count("/", "classes", info_.classes);
  write_columns();
  file_.set_number("/", "feature_scale", info_.encoding.scale);
  file_.set_number("/", "feature_offset", info_.encoding.offset);
  if (info_.image) {
    file_.set_count("/", "image_height", info_.image->height);
    file_.set_count("/", "image_width", info_.image->width);
    file_.set_count("/", "image_channels", info_.image->channels);
  }
  if (info_.context != Context{}) {
    file_.set_count("/", "context_left", info_.context.left);
    file_.set_count("/", "context_right", info_.context.right);
  }
  if (info_.frame_shift_s > 0) file_.set_number("/", "frame_shift_s", info_.frame_shift_s);
  if (!info_.class_names.empty()) file_.set_texts("/", "class_names", info_.class_names);
  if (!info_.names_of_features.empty() && bytes_of(info_.names_of_features) <= most_bytes_of_names)
    file_.set_texts("/", "feature_names", info_.names_of_features);
}

DatasetInfo DatasetWriter::finish() {
  for (const auto subset : {Subset::train, Subset::valid, Subset::test})
    if (!begun_[static_cast<std::size_t>(subset)]) begin(subset, 0);
  end_subset();
  info_.content_sha256 = hash_.finish(info_);
  write_root();
  file_.finish();
  return info_;
}

}  // namespace paragrad::data
