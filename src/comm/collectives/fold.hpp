#pragma once

#include <span>

#include "comm/communicator.hpp"

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

}  // namespace paragrad::comm::collectives
