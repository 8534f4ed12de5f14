#pragma once

#include <optional>
#include <vector>

#include "data/sequence_loader.hpp"
#include "train/input/batch_mover.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// Loads a subset as minibatches into device memory: rows or, if the data are sequences, sequences. Used like data::Loader.
class DeviceLoader {
 public:
  DeviceLoader(backend::Device& device, const TrainingData& source, data::Subset subset);

  void prefetch(std::vector<std::uint32_t> samples);
  void advance();

  /// The batch is valid until the next call and until the device has finished.
  data::Batch next(std::size_t at_most);

  /// The last batch from next() in host memory, without features.
  const data::Batch& on_host() const { return stored_.samples; }

  double waited_s() const { return sequences_ ? sequences_->waited_s() : rows_->waited_s(); }

 private:
  BatchMover mover_;  // declared before the loaders, whose thread uses it
  std::optional<data::Loader> rows_;
  std::optional<data::SequenceLoader> sequences_;
  data::StoredBatch stored_;
};

}  // namespace paragrad::train
