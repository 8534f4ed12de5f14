#pragma once

#include <vector>

#include "data/batch.hpp"
#include "data/dataset.hpp"

namespace paragrad::data {

/// Features of a minibatch, window by window.
inline std::vector<float> decoded(const Dataset& dataset, const StoredBatch& batch) {
  const std::size_t dim = dataset.info().dim, bytes = dataset.bytes_per_row();
  std::vector<float> features(batch.size() * dim);
  for (std::size_t i = 0; i < batch.size(); ++i)
    dataset.decode(std::span(batch.split->stored).subspan(batch.windows[i] * bytes, dataset.info().context.frames() * bytes),
                   std::span(features).subspan(i * dim, dim));
  return features;
}

}  // namespace paragrad::data
