#pragma once

#include <utility>
#include <vector>

#include "data/dataset.hpp"
#include "data/sample_stream.hpp"

namespace paragrad::data {

inline SampleList list(std::vector<std::uint32_t> indices) {
  const std::size_t count = indices.size();
  return {count, std::move(indices)};
}

/// Features of a minibatch, window by window.
inline std::vector<float> decoded(const Dataset& dataset, const Batch& batch) {
  const std::size_t dim = dataset.info().dim, bytes = dataset.info().bytes_per_row();
  std::vector<float> features(batch.size() * dim);
  for (std::size_t i = 0; i < batch.size(); ++i)
    dataset.decode(std::span(batch.stored.split->stored)
                       .subspan(batch.stored.windows[i] * bytes, dataset.info().context.frames() * bytes),
                   std::span(features).subspan(i * dim, dim));
  return features;
}

}  // namespace paragrad::data
