#include "nn/tensor_parallel.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::nn {
namespace {

Layers cut_layers(const Layers& whole, std::size_t parts, std::size_t part) {
  Layers own;
  for (std::size_t l = 0; l < whole.size(); ++l) {
    const std::size_t outputs = whole[l]->outputs();
    if (outputs < parts)
      throw core::ConfigError(
          core::format("layer {} has {} outputs and cannot be split into {} parts: give a smaller --tensor-parallel", l + 1,
                       outputs, parts));
    own.push_back(whole[l]->part(core::part_of(outputs, parts, part)));
    if (own.back() == nullptr)
      throw core::ConfigError(
          core::format("layer {} of this model cannot be split by its outputs: train it without --tensor-parallel", l + 1));
  }
  return own;
}

}  // namespace

TensorParallelNetwork::TensorParallelNetwork(std::shared_ptr<const Network> network, std::size_t parts_, std::size_t part_)
    : whole(std::move(network)), parts(parts_), part(part_), own(cut_layers(whole->layers, parts_, part_)) {}

core::Range TensorParallelNetwork::outputs_of(std::size_t layer, std::size_t of) const {
  return core::part_of(whole->layers[layer]->outputs(), parts, of);
}

/// Calls piece(offset in the whole, offset in the part, length) for each column of each matrix.
template <class Piece>
void TensorParallelNetwork::for_each_piece(std::size_t of, Piece piece) const {
  std::size_t in_part = 0;
  for (const core::Matrix& matrix : whole->layout) {
    const core::Range rows = core::part_of(matrix.shape.rows, parts, of);
    for (std::size_t column = 0; column < matrix.shape.columns; ++column, in_part += rows.size())
      piece(matrix.begin + column * matrix.shape.rows + rows.begin, in_part, rows.size());
  }
}

std::size_t TensorParallelNetwork::parameter_count(std::size_t of) const {
  std::size_t count = 0;
  for (const core::Matrix& matrix : whole->layout)
    count += core::part_of(matrix.shape.rows, parts, of).size() * matrix.shape.columns;
  return count;
}

void TensorParallelNetwork::cut(std::size_t of, std::span<const float> from_whole, std::span<float> to_part) const {
  for_each_piece(of, [&](std::size_t in_whole, std::size_t in_part, std::size_t length) {
    std::ranges::copy(from_whole.subspan(in_whole, length), to_part.subspan(in_part, length).begin());
  });
}

void TensorParallelNetwork::join(std::size_t of, std::span<const float> from_part, std::span<float> to_whole) const {
  for_each_piece(of, [&](std::size_t in_whole, std::size_t in_part, std::size_t length) {
    std::ranges::copy(from_part.subspan(in_part, length), to_whole.subspan(in_whole, length).begin());
  });
}

}  // namespace paragrad::nn
