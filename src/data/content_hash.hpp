#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/sha256.hpp"
#include "data/dataset.hpp"

namespace paragrad::data {

/// The identity of a data set: SHA-256 of a short text that states what a network is shown (types, sizes, scale) and the
/// SHA-256 of each array. Arrays may be added piecewise and interleaved. data/README.md shows the text.
class ContentHash {
 public:
  void add_features(Subset subset, std::span<const std::byte> rows) { of(subset).features.update(rows); }
  void add_labels(Subset subset, std::span<const std::int32_t> labels) { of(subset).labels.update(std::as_bytes(labels)); }
  void add_columns(Subset subset, const ColumnViews& rows) {
    const auto add = []<class T>(const ColumnInfo<T>&, core::Sha256& hash, std::span<const T> values) {
      hash.update(std::as_bytes(values));
    };
    for_columns(add, of(subset).columns, rows);
  }
  void add_offsets(Subset subset, std::span<const std::int64_t> offsets) {
    of(subset).offsets.update(std::as_bytes(offsets));
  }
  /// The stored text of names, or part of it; empty text counts as no names.
  void add_utterances(Subset subset, std::span<const std::byte> text) { add(of(subset).utterances, text); }
  void add_speakers(Subset subset, std::span<const std::byte> text) { add(of(subset).speakers, text); }

  /// `info` gives types, scale and counts; its content_sha256 is ignored. Ends the computation.
  std::string finish(const DatasetInfo& info);

 private:
  template <class>
  using HashOf = core::Sha256;
  struct Names {
    core::Sha256 hash;
    bool any = false;
  };
  struct Part {
    core::Sha256 features, labels, offsets;
    PerColumn<HashOf> columns;
    Names utterances, speakers;
  };
  std::string finish_text(const DatasetInfo& info);
  static void add(Names& names, std::span<const std::byte> text) {
    names.any = names.any || !text.empty();
    names.hash.update(text);
  }
  Part& of(Subset subset) { return parts_[static_cast<std::size_t>(subset)]; }

  std::array<Part, 3> parts_;
};

}  // namespace paragrad::data
