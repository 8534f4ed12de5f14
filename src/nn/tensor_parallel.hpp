#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/model.hpp"

namespace paragrad::nn {

/// A network whose layers are cut by outputs among `parts` holders: each computes its outputs of every layer from all
/// outputs of the layer below. This is the part of one of them.
struct TensorParallelNetwork {
  /// Throws ConfigError: a layer that cannot be cut, or has fewer outputs than there are parts.
  TensorParallelNetwork(std::shared_ptr<const Network> whole, std::size_t parts, std::size_t part);

  std::shared_ptr<const Network> whole;
  std::size_t parts;
  std::size_t part;
  Network own;  ///< layer l takes all outputs of layer l-1 and gives those of this part

  core::Range outputs_of(std::size_t layer, std::size_t part) const;

  /// Elements of a part's parameters.
  std::size_t parameter_count(std::size_t part) const;

  /// A part's parameters out of the whole network's, and back in; host memory.
  void cut(std::size_t part, std::span<const float> from_whole, std::span<float> to_part) const;
  void join(std::size_t part, std::span<const float> from_part, std::span<float> to_whole) const;

 private:
  template <class Piece>
  void for_each_piece(std::size_t part, Piece piece) const;
};

}  // namespace paragrad::nn
