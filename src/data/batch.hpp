#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/range.hpp"
#include "data/sample_columns.hpp"
#include "data/split.hpp"

namespace paragrad::data {

/// Where the features of a minibatch are before they are decoded. Host memory.
struct StoredFeatures {
  std::span<const std::uint32_t> windows{};       ///< [size] first frame of each sample's window in split->stored
  const Split* split = nullptr;                   ///< the stream's current one; null: nothing is left to be decoded
  std::optional<core::Range> rows_of_split = {};  ///< the minibatch's range in the split, if it is contiguous there
};

/// A minibatch: features[size][dim], labels[size], and the columns that the data have, [size][width]. Where these have no
/// labels, those of rows with a loss are 0.
struct Batch {
  std::span<const float> features{};  ///< of samples that are not tokens
  std::span<const std::int32_t> labels;
  ColumnViews columns{};
  std::span<const std::uint32_t> rows{};  ///< [size] row numbers of the samples in the subset, which key random numbers

  std::span<const std::int32_t>
      tokens{};  ///< [size] of windows of a text, in place of features; the labels are the next ones

  /// If samples are frames of sequences: the number of sequences that have a first frame, a second frame, …; frames are
  /// stored in that order, the longest sequence first. Empty: samples are independent. Always host memory.
  std::span<const std::uint32_t> active{};
  std::size_t frames_with_loss = 0;  ///< for sequences: frames with a label; the others have label -1

  StoredFeatures stored{};  ///< instead of features, as long as these are as in the data file

  /// Number of units that a stream counts: independent samples, or sequences.
  std::size_t units() const { return active.empty() ? size() : active.front(); }
  std::size_t scored() const { return active.empty() ? size() : frames_with_loss; }  ///< rows with a loss
  std::size_t size() const { return labels.size(); }                                 ///< rows
};

}  // namespace paragrad::data
