#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/content_hash.hpp"
#include "data/dataset.hpp"
#include "data/hdf5_file.hpp"

namespace paragrad::data {

/// What a training set contains, counted while it is written.
struct TrainingContent {
  std::vector<std::size_t> samples_of;                                    ///< [classes]; empty if there are targets
  double least = std::numeric_limits<double>::infinity(), most = -least;  ///< features as stored
};

/// Writes a data file row by row; needs memory only for the rows of one call.
///
///   DatasetWriter writer("x.h5", description);
///   writer.begin(Subset::train, 1000);
///   for (…) writer.append(rows, labels);     // 1000 rows in total
///   writer.begin(Subset::test, 100); …       // subsets in any order; an omitted one is empty
///   writer.finish();
///
/// The file appears (or replaces an older one) at finish(). Throws ConfigError for a full disk, more than most_classes, a
/// label outside 0 … classes-1, a feature that is not finite, or an invalid value of a column; std::logic_error for
/// inconsistent counts.
class DatasetWriter {
 public:
  /// `description`: everything except path, content_sha256, samples and sequences, which the writer fills in.
  DatasetWriter(const std::string& path, DatasetInfo description);

  void begin(Subset subset, std::size_t samples);

  /// features[rows][frame_dim] as stored (uint8 or float32 by the description), labels[rows] if there are classes, and the
  /// columns of the description.
  void append(std::span<const std::uint8_t> features, std::span<const std::int32_t> labels, const ColumnViews& columns = {});
  void append(std::span<const float> features, std::span<const std::int32_t> labels, const ColumnViews& columns = {});

  /// Tokens of a text, below the size of the description's vocabulary; bytes: of the text that they come from.
  void append_tokens(std::span<const std::int32_t> tokens, std::size_t bytes);

  /// Makes the rows since the last call one sequence. A subset has either no sequences or no rows outside of them.
  /// If one sequence of a subset has an utterance name or a speaker, all must have one.
  /// Throws ConfigError for a name with a line break.
  void end_sequence(std::string_view utterance = {}, std::string_view speaker = {});

  /// Returns the description with the counts and the content_sha256.
  DatasetInfo finish();

  /// Of the rows of the training set so far.
  const TrainingContent& training() const { return training_; }

 private:
  template <class T>
  void append_features(std::span<const T> features, std::size_t rows);
  void append_labels(std::span<const std::int32_t> labels);
  void append_columns(const ColumnViews& columns, std::size_t rows);
  template <class T>
  void append_rows(std::span<const T> features, std::span<const std::int32_t> labels, const ColumnViews& columns);
  void end_subset();
  std::span<const std::byte> write_names(const std::string& array, const std::string& names, std::size_t count);
  void write_columns();
  void write_vocabulary();
  void write_root();

  Hdf5File file_;
  DatasetInfo info_;
  ContentHash hash_;
  TrainingContent training_;
  Subset subset_{};
  std::string group_;  // of the subset being written, empty if none
  std::size_t rows_ = 0;
  std::array<bool, 3> begun_{};
  std::vector<std::int64_t> offsets_;
  std::string utterances_, speakers_;   // of the subset being written, a line for each sequence
  std::size_t named_ = 0, spoken_ = 0;  // how many lines
};

}  // namespace paragrad::data
