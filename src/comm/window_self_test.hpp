#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/window.hpp"
#include "comm/worker.hpp"

namespace paragrad::comm {

/// The result of testing windows.
struct WindowVerdict {
  bool usable = false;
  std::string text;      ///< one sentence, the same on all workers
  double get_share = 0;  ///< rate of get as a fraction of the message rate, likewise
};

/// Tests one-sided windows before a run relies on them: a few hundred kilobytes, some tenths of a second. It looks for known
/// errors of MPI libraries (Open MPI issues 6819, 10573 and 14173, MPICH issue 5565, and those in MpiWindow's header):
///
///   contents   accumulates of all workers under shared locks, counting under exclusive ones, and fetch_add tickets give the
///              right values, in windows of odd lengths
///   rate       get against a message of the same length between the same two workers, accumulate against a message and its
///              addition, the fastest of twenty each. Reported, but never a reason for refusal: a busy machine distorts it
///   progress   whether a target outside MPI makes others wait. Reported, but never a reason for refusal: servers are inside
///   end        no two operations may lie `limit_s` apart, or else the transport hangs; the whole test may take longer, on a
///              machine whose cores are busy
///
/// Collective, on the workers' own threads, with no task launched. If it hangs, see Worker::attempt.
WindowVerdict self_test_windows(Worker& worker, double limit_s = 60);

/// Measurements of the test; rates and progress are valid at worker 0 only.
struct WindowTrial {
  std::string wrong;     ///< what is wrong with the contents, the same on all workers; empty if nothing is
  double get_share = 1;  ///< fraction of the message rate
  double accumulate_share = 1;
  bool needs_target = false;
};
using WindowOpener = std::function<std::unique_ptr<Window>(std::size_t floats, std::size_t counters)>;

/// The parts of self_test_windows(), for any windows and without a time limit. steps: counts operations.
WindowTrial try_windows(Communicator& comm, const WindowOpener& open, std::atomic<std::uint64_t>& steps);
WindowVerdict judge(const WindowTrial& trial, int workers);

}  // namespace paragrad::comm
