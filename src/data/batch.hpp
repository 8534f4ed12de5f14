#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/range.hpp"
#include "data/split.hpp"

namespace paragrad::data {

/// A minibatch: features[size][dim], labels[size].
struct Batch {
  std::span<const float> features;
  std::span<const std::int32_t> labels;
  std::span<const std::uint32_t> rows{};  ///< [size] row numbers of the samples in the subset, which key random numbers

  /// If samples are frames of sequences: the number of sequences that have a first frame, a second frame, …; frames are
  /// stored in that order, the longest sequence first. Empty: samples are independent. Always host memory.
  std::span<const std::uint32_t> active{};
  std::size_t frames_with_loss = 0;  ///< for sequences: frames with a label; the others have label -1

  /// Number of units that the loader counts: independent samples, or sequences.
  std::size_t units() const { return active.empty() ? size() : active.front(); }
  std::size_t scored() const { return active.empty() ? size() : frames_with_loss; }  ///< rows with a loss
  std::size_t size() const { return labels.size(); }                                 ///< rows
};

/// A minibatch from a loader; its features are still encoded. Host memory, valid until the next call of the loader.
struct StoredBatch {
  Batch samples;                                  ///< without features
  std::span<const std::uint32_t> windows{};       ///< [size] first frame of each sample's window in split->stored
  const Split* split = nullptr;                   ///< the loader's current one
  std::optional<core::Range> rows_of_split = {};  ///< these rows' range in the split, if they are contiguous there

  std::size_t size() const { return samples.size(); }
};

}  // namespace paragrad::data
