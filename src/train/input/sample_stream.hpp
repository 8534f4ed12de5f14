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

/// How samples reach a worker's device: through a loader or, where nothing is computed, out of nowhere. Used as a
/// data::Loader is.
///
/// In the simulator the samples are also read from the platform's file system, as TrainingOptions::io says: from the moment
/// of prefetch on, or only when they are wanted.
class SampleStream {
 public:
  /// largest: samples that next() will be asked for at most.
  SampleStream(const TrainingData& source, data::Subset subset, comm::Worker& worker, const TrainingOptions& options,
               std::size_t largest);

  void prefetch(std::size_t samples, const std::vector<std::uint32_t>& rows);  ///< rows: those samples, if they are known
  void prefetch(core::Range rows);                                             ///< in the order of the file
  void advance();
  data::Batch next(std::size_t at_most);
  double waited_s() const { return samples_ ? samples_->waited_s() : 0; }

 private:
  void start_reading(std::size_t rows);
  std::size_t rows_of(std::size_t samples, std::span<const std::uint32_t> list) const;

  comm::Worker& worker_;
  Io io_;
  std::size_t sample_bytes_;
  std::uint64_t wanted_bytes_ = 0;                    // announced and not yet waited for
  std::shared_ptr<const data::Sequences> sequences_;  // of samples that are
  std::optional<DeviceLoader> samples_;
  std::optional<ImaginaryBatches> imaginary_;
};

}  // namespace paragrad::train
