#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/model.hpp"

namespace paragrad::nn {

/// One worker's part of a network whose layers are split by outputs into `parts` parts: each worker computes its share of
/// the outputs of every layer from all outputs of the layer below.
struct TensorParallelNetwork {
  /// Throws ConfigError for a layer that cannot be split or has fewer outputs than there are parts.
  TensorParallelNetwork(std::shared_ptr<const Network> whole, std::size_t parts, std::size_t part);

  std::shared_ptr<const Network> whole;
  std::size_t parts;
  std::size_t part;
  Network own;  ///< layer l takes all outputs of layer l-1 and computes this part's outputs

  core::Range outputs_of(std::size_t layer, std::size_t part) const;

  /// Number of parameters of a part.
  std::size_t parameter_count(std::size_t part) const;

  /// Copies a part's parameters from the whole network's, and back; host memory.
  void cut(std::size_t part, std::span<const float> from_whole, std::span<float> to_part) const;
  void join(std::size_t part, std::span<const float> from_part, std::span<float> to_whole) const;

 private:
  template <class Piece>
  void for_each_piece(std::size_t part, Piece piece) const;
};

}  // namespace paragrad::nn
