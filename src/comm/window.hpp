#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace paragrad::comm {

/// Memory of each worker that the others reach without its help: floats, and counters beside them. Made by
/// Communicator::open_window; both are zero then.
///
///   window->lock(server, Window::Lock::shared);
///   window->get(server, 0, parameters);
///   window->unlock(server);                          // now they are here
///
/// What happens when:
///   lock        returns when nobody else holds a lock at the target that excludes it. First come, first served.
///   get, put, accumulate   between lock and unlock of that target. They only begin a transfer; the caller's memory is
///               untouched (put, accumulate) or unread (get) until unlock. Of several that touch the same floats in one
///               lock the order is not defined, except that accumulates add up.
///   unlock      returns when all that was begun is complete: what get fetched is here, what put and accumulate brought is
///               there, and whoever locks afterwards sees it.
///   fetch_add   is atomic and complete on return; needs no lock. A worker that changes floats, unlocks and then adds to a
///               counter can be sure that who sees the counter and then locks sees the floats.
/// Under an exclusive lock nobody else touches the target's floats. Under shared locks accumulates of several workers all
/// arrive, element by element; a get beside them may see some elements before and some after.
///
/// A window is used by any thread of its worker; two threads exclude each other at a target even with shared locks.
/// Where the library has no thread of its own, the target gets on with what others ask of it while some thread of its
/// process is inside MPI: a wait, await_counter. So serve (Worker::serve) where the worker itself computes.
/// A worker that dies keeps its locks.
///
/// Errors: Failure; std::logic_error for a transfer outside of a lock or past the memory.
class Window {
 public:
  enum class Lock { shared, exclusive };

  virtual ~Window() = default;  ///< collective, unless an error unwinds

  /// This worker's floats. To be touched between lock and unlock of oneself, to be written under an exclusive lock.
  virtual std::span<float> memory() = 0;

  virtual void lock(int target, Lock kind) = 0;
  virtual void unlock(int target) = 0;

  /// to = the target's floats from `at` on.
  virtual void get(int target, std::size_t at, std::span<float> to) = 0;

  /// The target's floats from `at` on = from.
  virtual void put(int target, std::size_t at, std::span<const float> from) = 0;

  /// The target's floats from `at` on += from.
  virtual void accumulate(int target, std::size_t at, std::span<const float> from) = 0;

  /// Adds to a counter of the target and returns what it was before. Wraps around.
  virtual std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) = 0;

  /// Waits until a counter of this worker is `at_least` or more and returns it; nothing if that lasts longer than `limit_s`
  /// (see Communicator::wait_for).
  virtual std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) = 0;

  std::uint64_t await_counter(std::size_t counter, std::uint64_t at_least) {
    return *await_counter_for(counter, at_least, std::numeric_limits<double>::infinity());
  }
};

}  // namespace paragrad::comm
