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
  std::span<const std::uint32_t> rows{};  ///< [size] of the subset that the samples are, by which randomness is keyed

  /// Where samples are frames of sequences: how many sequences have a first frame, a second, …; they lie in that order, the
  /// longest sequence first. Nothing: samples stand alone. Always the host's memory.
  std::span<const std::uint32_t> active{};
  std::size_t frames_with_loss = 0;  ///< then: that have a label, which is -1 for the others

  /// How many of what the loader was asked for: samples that stand alone, or sequences.
  std::size_t units() const { return active.empty() ? size() : active.front(); }
  std::size_t scored() const { return active.empty() ? size() : frames_with_loss; }  ///< rows that have a loss
  std::size_t size() const { return labels.size(); }                                 ///< rows
};

/// A minibatch as a loader hands it out: its features are still to be decoded. Memory of the host, valid until the loader's
/// next call.
struct StoredBatch {
  Batch samples;                                  ///< without features
  std::span<const std::uint32_t> windows{};       ///< [size] the frame of split->stored that each sample begins with
  const Split* split = nullptr;                   ///< the loader's current one
  std::optional<core::Range> rows_of_split = {};  ///< which of its rows these are, where they stand there as they do here

  std::size_t size() const { return samples.size(); }
};

}  // namespace paragrad::data
