#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// The rows of one split as they are stored, and their labels: what a loader holds of it.
///
/// With a context, a sample sees a window of frames. Then not rows are held but runs of frames, each frame once however many
/// windows it stands in; at the ends of a sequence its first and last frame are repeated, so that each window is one piece.
struct Split {
  std::vector<std::byte> stored;       ///< [frames][frame_dim]
  std::vector<std::uint32_t> windows;  ///< [rows] the frame of `stored` that each row's window begins with
  std::vector<std::int32_t> labels;    ///< [rows]
  std::vector<std::uint32_t> rows;     ///< numbers of the rows in the subset

  void clear();

  /// Copies out of the map: this is where pages are read from the disk. Throws ConfigError for a label outside the classes,
  /// std::out_of_range for a row that is none.
  void read(const Dataset& dataset, Subset subset, std::vector<std::uint32_t> wanted);

 private:
  void read_rows(const Dataset& dataset, Subset subset);
  void read_windows(const Dataset& dataset, Subset subset);
};

}  // namespace paragrad::data
