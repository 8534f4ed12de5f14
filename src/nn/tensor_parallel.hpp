#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/graph.hpp"

namespace paragrad::nn {

/// Tensor parallelism (Dean et al., NIPS 2012): a graph cut into parts for workers that hold one replica together. Each
/// computes its part of a layer's outputs, with the parameters that lead to them, or an addend of all of them. Gather joins
/// the parts where an operation needs them all, and SumOfParts adds the addends (OpPart, ops/gather.hpp).
class TensorParallel {
 public:
  /// The part of worker `index` of `workers`. Throws ConfigError, naming the node, for an operation that cannot be split.
  TensorParallel(std::shared_ptr<const Graph> whole, std::size_t workers, std::size_t index);

  const Graph& whole() const { return *whole_; }
  const std::shared_ptr<const Graph>& own() const { return own_; }
  std::size_t workers() const { return rows_.size(); }
  std::size_t index() const { return index_; }

  /// Number of parameters and buffers of a worker.
  std::size_t model_size(std::size_t worker) const;

  /// Copies a worker's parameters and buffers from the whole graph's, and back; host memory.
  void cut(std::size_t worker, std::span<const float> from_whole, std::span<float> to_part) const;
  void join(std::size_t worker, std::span<const float> from_part, std::span<float> to_whole) const;

 private:
  template <class Piece>
  void for_each_piece(std::size_t worker, Piece piece) const;

  std::shared_ptr<const Graph> whole_;
  std::shared_ptr<const Graph> own_;
  std::size_t index_;
  std::vector<std::vector<core::Range>> rows_;  // [workers][matrices] the rows of each matrix that a worker holds
};

}  // namespace paragrad::nn
