#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "metrics/activity_log.hpp"

namespace paragrad::metrics {

/// One message transfer.
struct Transfer {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// The records of one worker: its own spans, its communication tasks and the messages it sent.
struct WorkerTimeline {
  int node = 0;
  std::vector<Span> own;
  std::vector<Span> of_tasks;
  std::vector<Transfer> sent;
  std::uint64_t dropped = 0;  ///< number of spans and messages not kept
};

struct Timeline {
  std::string clock;                    ///< "simulated" or "wall"
  double clock_error_s = 0;             ///< maximum disagreement between the clocks of different workers
  std::size_t most_per_row = 0;         ///< maximum number of spans of a row, first and last together
  std::vector<WorkerTimeline> workers;  ///< by rank
};

/// Writes Chrome trace events, which ui.perfetto.dev opens: one process per node, with a row per worker and one for its
/// communication tasks; messages are asynchronous slices. otherData contains the clock, its error and the number of dropped
/// spans. Times are exact to the picosecond.
void write_trace(const Timeline& timeline, std::ostream& out);

}  // namespace paragrad::metrics
