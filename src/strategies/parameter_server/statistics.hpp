#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace paragrad::strategies {

struct Remarks;

/// Counts kept by servers. A gradient's staleness is the number of updates of its shard between fetching the parameters it
/// was computed with and its own update.
struct Statistics {
  std::vector<std::uint64_t> staleness;  ///< [s]: gradients of that staleness that were applied
  std::uint64_t dropped = 0;             ///< gradients that were not applied
  std::uint64_t workers_lost = 0;        ///< workers dropped because they were silent
  std::uint64_t splits_lost = 0;         ///< upper bound on the splits that lost workers took but did not finish

  void count(std::uint64_t staleness_of_one) {
    if (staleness.size() <= staleness_of_one) staleness.resize(staleness_of_one + 1);
    ++staleness[staleness_of_one];
  }

  Statistics& operator+=(const Statistics& other) {
    if (staleness.size() < other.staleness.size()) staleness.resize(other.staleness.size());
    for (std::size_t i = 0; i < other.staleness.size(); ++i) staleness[i] += other.staleness[i];
    dropped += other.dropped;
    workers_lost = std::max(workers_lost, other.workers_lost);  // each server counts all
    splits_lost += other.splits_lost;
    return *this;
  }
};

/// The staleness histogram and any losses, as lines for the user and numbers for the run's record.
Remarks remarks_of(const Statistics& statistics);

}  // namespace paragrad::strategies
