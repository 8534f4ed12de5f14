#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "metrics/activity_totals.hpp"

namespace paragrad::worlds {

/// --sync-stats: every few synchronisations, prints how the workers spent their time since the last line, as the mean over
/// the workers and the extremes (like CNTK's syncPerfStats).
class SyncStats {
 public:
  using Say = std::function<void(const std::string& line)>;

  SyncStats(int workers, Say say) : workers_(static_cast<std::size_t>(workers)), say_(std::move(say)) {}

  /// For workers of one process: the last to arrive prints the line.
  void post(std::size_t synchronisation, const metrics::PeriodTimes& times);

  /// For ranks: collective; worker 0 prints the line.
  void gather(comm::Communicator& comm, std::size_t synchronisation, const metrics::PeriodTimes& times);

 private:
  std::size_t workers_;
  Say say_;
  std::map<std::size_t, std::vector<metrics::PeriodTimes>> board_;  // synchronisations that not all workers have reached
};

}  // namespace paragrad::worlds
