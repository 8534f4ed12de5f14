#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/move.hpp"

/// Copies and sums of arrays that do not depend on each other, by one launch. Many emulated workers that exchange messages
/// on one GPU make thousands of short ones.
namespace paragrad::backend::gpu_kernels {

struct MoveGroup {
  static constexpr const char* name = "copies and sums";
  static constexpr std::uint32_t threads = 256, floats_of_block = 8 * threads;
  static constexpr std::size_t most = Move::most_at_once;
  using Shared = Nothing;

  std::uint32_t count = 0;
  std::array<Move, most> moves;
  std::array<std::uint32_t, most> ends;  // the block after each move's last

  void add(const Move& move) {
    const auto more = static_cast<std::uint32_t>(blocks_for(move.floats, floats_of_block));
    ends[count] = (count == 0 ? 0 : ends[count - 1]) + more;
    moves[count++] = move;
  }

  std::size_t blocks() const { return ends[count - 1]; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    std::uint32_t which = 0;  // the first move that ends after this block
    for (std::uint32_t left = count; left > 0;) {
      const std::uint32_t half = left / 2, middle = which + half;
      if (ends[middle] > block.index) {
        left = half;
      } else {
        which = middle + 1;
        left -= half + 1;
      }
    }
    const Move move = moves[which];
    const std::size_t first = static_cast<std::size_t>(block.index - (which == 0 ? 0 : ends[which - 1])) * floats_of_block;
    block.each([&](std::uint32_t thread) {
      for (std::size_t i = first + thread; i < move.floats && i < first + floats_of_block; i += threads)
        move.to[i] = move.adds ? move.to[i] + move.from[i] : move.from[i];
    });
  }
};

}  // namespace paragrad::backend::gpu_kernels
