#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace paragrad::comm {

/// Memory of each worker that the others access without its help: floats and counters. Made by Communicator::open_window;
/// both are initially zero.
///
///   window->lock(server, Window::Lock::shared);
///   window->get(server, 0, parameters);
///   window->unlock(server);                          // now the parameters have arrived
///
/// What happens when:
///   lock        returns when no other worker holds a conflicting lock at the target. First come, first served.
///   get, put, accumulate   between lock and unlock of that target. They only start a transfer: until unlock the caller must
///               not change (put, accumulate) or read (get) its memory. If several touch the same floats within one lock,
///               their order is undefined, except that accumulates add up.
///   unlock      returns when all started transfers are complete: gets have arrived here, puts and accumulates have arrived
///   at
///               the target and are visible to the next worker that locks it.
///   fetch_add   is atomic and complete on return; needs no lock. If a worker changes floats, unlocks and then adds to a
///               counter, any worker that sees the counter and then locks also sees the floats.
/// Under an exclusive lock no other worker accesses the target's floats. Under shared locks the accumulates of several
/// workers all take effect, element by element; a concurrent get may see some elements before and some after.
///
/// Any thread of a worker may use its window; two threads exclude each other at a target even with shared locks.
/// If the library has no progress thread, the target makes progress on requests of others only while some thread of its
/// process is inside MPI: a wait, await_counter. So use a service (Worker::serve) if the worker itself computes.
/// A worker that dies keeps its locks.
///
/// Errors: Failure; std::logic_error for a transfer without a lock or past the end of the memory.
class Window {
 public:
  enum class Lock { shared, exclusive };

  virtual ~Window() = default;  ///< collective, unless an error unwinds

  /// This worker's floats. Access them between lock and unlock of its own rank; write under an exclusive lock.
  virtual std::span<float> memory() = 0;

  virtual void lock(int target, Lock kind) = 0;
  virtual void unlock(int target) = 0;

  /// to = the target's floats from `at` on.
  virtual void get(int target, std::size_t at, std::span<float> to) = 0;

  /// The target's floats from `at` on = from.
  virtual void put(int target, std::size_t at, std::span<const float> from) = 0;

  /// The target's floats from `at` on += from.
  virtual void accumulate(int target, std::size_t at, std::span<const float> from) = 0;

  /// Adds to a counter of the target and returns its previous value. Wraps around.
  virtual std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) = 0;

  /// Waits until a counter of this worker is at least `at_least` and returns it; nothing if that takes longer than `limit_s`
  /// (see Communicator::wait_for).
  virtual std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) = 0;

  std::uint64_t await_counter(std::size_t counter, std::uint64_t at_least) {
    return *await_counter_for(counter, at_least, std::numeric_limits<double>::infinity());
  }
};

}  // namespace paragrad::comm
