#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/collectives/fold.hpp"
#include "core/range.hpp"

namespace paragrad::comm::collectives {

/// One step of halving an array among the workers of a fold: what this worker was in charge of is cut in two.
struct Halving {
  int peer;
  core::Range kept;
  core::Range given;  ///< to the peer
};

/// From the whole array with the nearest peer down to a p-th of it with the farthest; doubling is the way back. The first
/// entry is the whole array, kept, with the worker itself as its peer. For workers that are not outside of the fold.
std::vector<Halving> halvings(const Fold& fold, std::size_t length);

/// The way back: every worker of the fold has the last range that it keeps, and gets all others.
void double_back(Communicator& comm, std::span<const Halving> halvings, std::span<float> data);

}  // namespace paragrad::comm::collectives
