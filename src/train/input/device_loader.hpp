#pragma once

#include <optional>
#include <vector>

#include "data/sequence_loader.hpp"
#include "train/input/batch_mover.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// DeviceLoader of a subset as minibatches in a device's memory: rows or, of a source of sequences, these. Used as a
/// data::Loader is.
class DeviceLoader {
 public:
  DeviceLoader(backend::Device& device, const TrainingData& source, data::Subset subset);

  void prefetch(std::vector<std::uint32_t> samples);
  void advance();

  /// Valid until the next call, and until the device has finished.
  data::Batch next(std::size_t at_most);

  /// What next() last gave, as the host has it: without features.
  const data::Batch& on_host() const { return stored_.samples; }

  double waited_s() const { return sequences_ ? sequences_->waited_s() : rows_->waited_s(); }

 private:
  BatchMover mover_;  // before the loaders, whose thread it serves
  std::optional<data::Loader> rows_;
  std::optional<data::SequenceLoader> sequences_;
  data::StoredBatch stored_;
};

}  // namespace paragrad::train
