#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "comm/worker.hpp"
#include "core/range.hpp"
#include "train/input/device_loader.hpp"
#include "train/input/imaginary_batches.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// Supplies a worker's device with samples: from a loader or, if nothing is computed, imaginary ones. Used like
/// data::Loader.
///
/// The worker is told how many bytes prefetch() announces and advance() needs, which takes time in the simulator
/// (Worker::announce_read).
class SampleStream {
 public:
  /// largest: the maximum that next() will be asked for.
  SampleStream(const TrainingData& source, data::Subset subset, comm::Worker& worker, const TrainingOptions& options,
               std::size_t largest);

  void prefetch(std::size_t samples, const std::vector<std::uint32_t>& rows);  ///< rows: of these samples, if known
  void prefetch(core::Range rows);                                             ///< in file order
  void advance();
  data::Batch next(std::size_t at_most);
  double waited_s() const { return samples_ ? samples_->waited_s() : 0; }

 private:
  std::size_t rows_of(std::size_t samples, std::span<const std::uint32_t> list) const;

  comm::Worker& worker_;
  std::size_t sample_bytes_;
  std::uint64_t wanted_bytes_ = 0;                    // announced but not yet waited for
  std::shared_ptr<const data::Sequences> sequences_;  // null unless samples are sequences
  std::optional<DeviceLoader> samples_;
  std::optional<ImaginaryBatches> imaginary_;
};

}  // namespace paragrad::train
