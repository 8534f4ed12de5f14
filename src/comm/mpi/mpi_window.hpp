#pragma once

#include <mpi.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/mpi/backoff.hpp"
#include "comm/mpi/cancellation.hpp"
#include "comm/mpi/peers.hpp"
#include "comm/traffic.hpp"
#include "comm/window.hpp"

namespace paragrad::comm {

/// A window over MPI passive-target communication (MPI-3.1, chapter 11). The floats are in one MPI window, which is locked
/// and unlocked; the counters are in another, which all workers keep locked for its lifetime, so that they are always
/// accessible.
///
/// Weaknesses of libraries, as seen with MPICH 4.0 (ch4:ucx) within a node: a lock is granted only while the target is
/// inside MPI; accumulating 256 kB at once takes three times as long as in pieces of 16 kB; the windows of a node's ranks
/// overlap by some bytes if sizes are not multiples of their alignment, so all sizes are rounded up here.
class MpiWindow : public Window {
 public:
  struct Context {
    MPI_Comm comm;
    int rank;
    int size;
    double stall_s;  ///< a longer wait for a counter is a Failure
    Patience patience;
    std::shared_ptr<const Cancellation> cancellation;
    std::shared_ptr<Peers> peers;
    std::shared_ptr<TrafficMeter> traffic_meter;
  };

  MpiWindow(const Context& context, std::size_t floats, std::size_t counters);
  ~MpiWindow() override;

  std::span<float> memory() override { return {floats_, count_}; }
  void lock(int target, Lock kind) override;
  void unlock(int target) override;
  void get(int target, std::size_t at, std::span<float> to) override;
  void put(int target, std::size_t at, std::span<const float> from) override;
  void accumulate(int target, std::size_t at, std::span<const float> from) override;
  std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) override;
  std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) override;

 private:
  void check(int code, const char* doing, int target) const;
  void make_progress() const;
  void check_range(int target, std::size_t at, std::size_t floats) const;

  Context context_;
  Competition competition_;  // for the core, as waits for counters have shown
  int exceptions_at_start_;
  MPI_Win float_window_ = MPI_WIN_NULL;
  MPI_Win counter_window_ = MPI_WIN_NULL;
  float* floats_ = nullptr;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> lengths_;  // floats and counters of each worker, in pairs
  std::vector<std::mutex> at_target_;   // one lock of a process at a target at a time: MPI's rule
};

}  // namespace paragrad::comm
