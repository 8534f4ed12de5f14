#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range.hpp"

namespace paragrad::core {

/// Rows and columns of an array of parameters. A vector is a single column.
struct MatrixShape {
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::size_t size() const { return rows * columns; }
};

/// What a matrix is in a network, for rules that treat matrices differently.
enum class Role : std::uint8_t {
  hidden,     ///< between other layers
  embedding,  ///< a table of vectors that are looked up
  head        ///< it produces the outputs
};

/// A matrix within the parameters, stored column by column from `begin` on. A layer's weights [inputs][outputs] are such a
/// matrix with `outputs` rows: column i holds the weights of input i. The layout of a model is the list of its matrices,
/// which cover its flat parameters without gaps. Optimisers and compressors see layers only through this list.
struct Matrix {
  std::size_t begin = 0;
  MatrixShape shape;
  bool part = false;  ///< some columns of a larger matrix
  Role role = Role::hidden;
  std::uint16_t stacked = 1;  ///< so many matrices of equal height, one above the other: queries, keys and values
  std::int32_t block = -1;    ///< the block of the network, from 0, that it belongs to; -1: none, as an embedding or a head

  Range range() const { return {begin, begin + shape.size()}; }
  bool is_vector() const { return shape.columns == 1 && !part; }  ///< biases, scales, peepholes
};

}  // namespace paragrad::core
