#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// The stored rows of one split with their labels and columns, as a stream holds them.
///
/// With a context, a sample is a window of frames. The split then holds runs of frames, each frame once however many windows
/// contain it; at the ends of a sequence its first and last frame are repeated, so that each window is contiguous.
struct Split {
  std::vector<std::byte> stored;       ///< [frames][frame_dim]
  std::vector<std::uint32_t> windows;  ///< [rows] first frame of each row's window in `stored`
  std::vector<std::int32_t> labels;    ///< [rows]; all 0 where there are none
  ColumnValues columns;                ///< [rows][width]
  std::vector<std::uint32_t> rows;     ///< row numbers in the subset

  void clear();

  /// Copies from the mapping; this is where pages are read from disk. Throws ConfigError for a label outside the classes,
  /// a feature that is not finite and an invalid value of a column, std::out_of_range for a row that does not exist.
  void read(const Dataset& dataset, Subset subset, std::vector<std::uint32_t> wanted);

 private:
  void check_features(const Dataset& dataset, Subset subset) const;
  void check_tokens(const DatasetInfo& info, Subset subset) const;
  void read_labels(const Dataset& dataset, Subset subset);
  void read_columns(const Dataset& dataset, Subset subset);
  void read_rows(const Dataset& dataset, Subset subset);
  void read_windows(const Dataset& dataset, Subset subset);
};

}  // namespace paragrad::data
