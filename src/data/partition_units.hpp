#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/range.hpp"
#include "data/dataset.hpp"
#include "data/text_windows.hpp"

namespace paragrad::data {

/// What a partition divides among workers, in the order of the training set: samples, whole utterances, or the windows of a
/// text. Refers to the data set.
class PartitionUnits {
 public:
  static PartitionUnits of_samples(const Dataset& dataset);

  /// Throws ConfigError for a training set without utterances.
  static PartitionUnits of_utterances(const Dataset& dataset);

  static PartitionUnits of_windows(const Dataset& dataset, const Windows& windows);

  /// Of which nothing is known but their number. what: they are of, for messages.
  static PartitionUnits imaginary(std::size_t count, const std::string& what = "an imaginary data set");

  const std::string& what() const { return what_; }  ///< they are of, for messages: "'x.h5'"
  std::size_t count() const { return offsets_.empty() ? count_ : offsets_.size() - 1; }
  std::size_t samples() const { return count_; }
  bool are_windows() const { return windows_.has_value(); }
  const char* noun() const { return are_utterances() ? "utterances" : are_windows() ? "windows" : "samples"; }
  bool are_imaginary() const { return dataset_ == nullptr; }
  bool are_utterances() const { return !offsets_.empty(); }
  std::span<const std::int64_t> offsets() const { return offsets_; }  ///< of utterances, [count + 1]

  /// Positions of a unit's samples in the training set.
  core::Range samples_of(std::size_t unit) const;

  /// Throws ConfigError where units have none: in a set with targets, in a text, or where labels differ within an utterance.
  std::vector<std::size_t> labels() const;

  /// The group of each unit, numbered from 0 in the order of their first units. by: "speaker", "client", "label" or
  /// "document". Throws ConfigError where units do not belong to such groups.
  std::vector<std::uint32_t> groups(std::string_view by) const;

  /// Throws ConfigError if units do not follow one another in the training set: windows at random places.
  void require_order() const;

 private:
  std::vector<std::int64_t> clients() const;
  std::vector<std::int64_t> sequences() const;

  const Dataset* dataset_ = nullptr;
  std::string what_;
  std::optional<Windows> windows_;
  std::size_t count_ = 0;  ///< of samples
  std::span<const std::int64_t> offsets_;
};

/// The label of a training sample. Throws ConfigError if it is outside the classes.
std::size_t class_of(const Dataset& dataset, std::size_t sample);

/// Cuts consecutive units into parts of about as many samples, each of at least one unit. ends: [units + 1], from 0, where
/// the units end. Result: [parts + 1], from 0, where the parts end.
std::vector<std::uint64_t> cut_at_ends(const std::vector<std::uint64_t>& ends, std::size_t parts);

}  // namespace paragrad::data
