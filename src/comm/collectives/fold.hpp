#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "core/range.hpp"

namespace paragrad::comm::collectives {

/// Extends an algorithm for powers of two to any number of workers n = p + s, with p the largest power of two: worker p + i
/// sends its array to worker i beforehand and receives the result from it afterwards (Thakur, Rabenseifner & Gropp, 2005,
/// section 4.4, with other pairs). Costs two steps with the whole array if s > 0.
struct Fold {
  explicit Fold(const Communicator& comm);

  bool outside() const { return rank >= active; }

  void in(Communicator& comm, std::span<float> data) const;   ///< x[i] += x[p + i]
  void out(Communicator& comm, std::span<float> data) const;  ///< data of worker p + i = data of worker i

  int active;  ///< p
  int rank;
  int partner;  ///< no_worker if there is none
};

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
