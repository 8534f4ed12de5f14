#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "metrics/activity_log.hpp"

namespace paragrad::metrics {

/// A message on its way.
struct Transfer {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// What is known of one worker: of itself, of the communication tasks beside it, of the messages it sent.
struct WorkerTimeline {
  int node = 0;
  std::vector<Span> own;
  std::vector<Span> of_tasks;
  std::vector<Transfer> sent;
  std::uint64_t dropped = 0;  ///< spans and messages that were not kept
};

struct Timeline {
  std::string clock;                    ///< "simulated" or "wall"
  double clock_error_s = 0;             ///< by which clocks of different workers may disagree
  std::size_t most_per_row = 0;         ///< the first and the last spans of a row, together
  std::vector<WorkerTimeline> workers;  ///< by rank
};

/// Writes Chrome's trace events, which ui.perfetto.dev opens: a process per node, in it a row per worker and one for its
/// communication tasks; messages as asynchronous slices. Clock, its error and the number of dropped spans stand in
/// otherData. Times are exact to the picosecond.
void write_trace(const Timeline& timeline, std::ostream& out);

}  // namespace paragrad::metrics
