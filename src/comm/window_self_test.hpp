#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/window.hpp"
#include "comm/worker.hpp"

namespace paragrad::comm {

/// What came of trying windows out.
struct WindowVerdict {
  bool usable = false;
  std::string text;      ///< one sentence, the same on all workers
  double get_share = 0;  ///< of the rate of messages, likewise
};

/// Tries one-sided windows out before a run relies on them: a few hundred kilobytes, some tenths of a second. Looked for is
/// what MPI libraries have been seen to do wrong (Open MPI's issues 6819, 10573 and 14173, MPICH's 5565, and what
/// MpiWindow's header tells):
///
///   contents   accumulates of all workers under shared locks, counting under exclusive ones, and tickets of fetch_add are
///              what they must be, in windows of odd lengths
///   rate       get against a message of the same length between the same two workers, accumulate against a message and its
///              addition, the fastest of twenty each. That is told, not refused: on a busy machine it says little
///   progress   whether a target that is outside of MPI is waited for. That is told, not refused: servers are inside
///   end        all of it within `limit_s`, or else the transport hangs
///
/// Collective, by the workers' own threads, which must not have launched anything. Where it hangs, see Worker::attempt.
WindowVerdict self_test_windows(Worker& worker, double limit_s = 30);

/// What came of the trial in figures: those of messages and of progress at worker 0 alone.
struct WindowTrial {
  std::string wrong;     ///< with the contents, the same on all workers; or nothing
  double get_share = 1;  ///< of the rate of messages
  double accumulate_share = 1;
  bool needs_target = false;
};
using WindowOpener = std::function<std::unique_ptr<Window>(std::size_t floats, std::size_t counters)>;

/// The pieces of self_test_windows(), over any windows and without a limit.
WindowTrial try_windows(Communicator& comm, const WindowOpener& open);
WindowVerdict judge(const WindowTrial& trial, int workers);

}  // namespace paragrad::comm
