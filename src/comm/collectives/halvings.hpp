#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives/fold.hpp"
#include "core/range.hpp"

namespace paragrad::comm::collectives {

/// One step of recursive halving among the workers of a fold: this worker's range is cut in two.
struct Halving {
  int peer;
  core::Range kept;
  core::Range given;  ///< to the peer
};

/// The halving steps, from the whole array with the nearest peer down to 1/p of it with the farthest; recursive doubling
/// runs them in reverse. The first entry keeps the whole array and has the worker itself as peer. Only for workers inside
/// the fold.
std::vector<Halving> halvings(const Fold& fold, std::size_t length);

/// Recursive doubling: every worker of the fold starts with the last range it kept and receives all others.
void double_back(Communicator& comm, std::span<const Halving> halvings, std::span<float> data);

}  // namespace paragrad::comm::collectives
