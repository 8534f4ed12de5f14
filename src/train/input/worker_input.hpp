#pragma once

#include <memory>
#include <utility>

#include "backend/device.hpp"
#include "data/sample_stream.hpp"
#include "train/input/training_data.hpp"

namespace paragrad::train {

/// What one worker trains on: data that it shares with the workers of its process, and its own way of reading them.
struct WorkerInput {
  const TrainingData& source;
  data::SampleStreamDecorator decorate;  ///< applied to every stream; may be empty

  WorkerInput(const TrainingData& source_, data::SampleStreamDecorator decorate_ = {})
      : source(source_), decorate(std::move(decorate_)) {}

  /// The samples of a subset in the device's memory; imaginary ones if only sizes are known.
  /// largest: the maximum that next() will be asked for.
  std::unique_ptr<data::SampleStream> open(backend::Device& device, data::Subset subset, std::size_t largest) const;
};

}  // namespace paragrad::train
