#include "comm/mpi/mpi_window.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>

#include "comm/communicator.hpp"
#include "comm/mpi/backoff.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "comm/tags.hpp"
#include "core/format.hpp"

namespace paragrad::comm {
namespace {

// Maximum elements per call: counts are int; for accumulates see the header.
constexpr std::size_t most_moved = std::size_t{1} << 28;
constexpr std::size_t most_accumulated = 4096;

// See the header: adjacent windows overlap unless sizes are rounded up.
std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Calls transfer(elements here, their count, context there) for parts of at most `most` elements.
template <class Float, class Transfer>
void in_parts(std::span<Float> here, std::size_t there, std::size_t most, const Transfer& transfer) {
  for (std::size_t done = 0; done < here.size(); done += most) {
    const auto part = here.subspan(done, std::min(most, here.size() - done));
    transfer(part.data(), static_cast<int>(part.size()), static_cast<MPI_Aint>(there + done));
  }
}

/// Relaxations allowed here: accumulates need no order, and no element gets different operations.
class Hints {
 public:
  Hints() {
    MPI_Info_create(&info_);
    MPI_Info_set(info_, "accumulate_ordering", "none");
    MPI_Info_set(info_, "accumulate_ops", "same_op");
  }
  ~Hints() { MPI_Info_free(&info_); }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace

MpiWindow::MpiWindow(const Context& context, std::size_t floats, std::size_t counters)
    : context_(context),
      exceptions_at_start_(std::uncaught_exceptions()),
      count_(floats),
      lengths_(2 * static_cast<std::size_t>(context.size)),
      at_target_(static_cast<std::size_t>(context.size)) {
  const std::array<std::uint64_t, 2> mine{floats, counters};
  const int self = context_.rank;
  check(MPI_Allgather(mine.data(), 2, MPI_UINT64_T, lengths_.data(), 2, MPI_UINT64_T, context_.comm), "opening a window",
        self);
  const Hints hints;
  const auto allocate = [&](std::size_t bytes, std::size_t unit, void* memory, MPI_Win& window) {
    check(MPI_Win_allocate(static_cast<MPI_Aint>(whole_lines(bytes)), static_cast<int>(unit), hints.get(), context_.comm,
                           memory, &window),
          "opening a window", self);
    check(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "opening a window", self);
  };
  std::uint64_t* values = nullptr;
  allocate(floats * sizeof(float), sizeof(float), &floats_, float_window_);
  allocate(counters * sizeof(std::uint64_t), sizeof(std::uint64_t), &values, counter_window_);
  lock(self, Lock::exclusive);
  std::fill_n(floats_, floats, 0.f);
  unlock(self);
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, counter_window_), "opening a window", self);
  std::fill_n(values, counters, 0);
  check(MPI_Win_sync(counter_window_), "opening a window", self);
  check(MPI_Barrier(context_.comm), "opening a window", self);
}

// Collective: while an exception unwinds, the other workers do not take part; nor do workers that are gone.
MpiWindow::~MpiWindow() {
  if (std::uncaught_exceptions() > exceptions_at_start_ || context_.cancellation->requested()) return;
  if (context_.peers->somebody_is_gone()) return;
  MPI_Win_unlock_all(counter_window_);
  MPI_Win_free(&counter_window_);
  MPI_Win_free(&float_window_);
}

void MpiWindow::check(int code, const char* doing, int target) const {
  if (code != MPI_SUCCESS) throw_mpi_failure(context_.rank, core::format("{} (of worker {})", doing, target), code);
}

void MpiWindow::check_range(int target, std::size_t at, std::size_t floats) const {
  const std::size_t size = lengths_.at(2 * static_cast<std::size_t>(target));
  if (at > size || floats > size - at) throw std::logic_error("a transfer past the end of a window");
}

void MpiWindow::lock(int target, Lock kind) {
  if (context_.peers->is_gone(target))
    throw PeerGone(target,
                   core::format("worker {}: lock of a window: the process of worker {} has ended", context_.rank, target));
  at_target_.at(static_cast<std::size_t>(target)).lock();
  const int type = kind == Lock::exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
  check(MPI_Win_lock(type, target, 0, float_window_), "lock of a window", target);
}

void MpiWindow::unlock(int target) {
  check(MPI_Win_unlock(target, float_window_), "unlock of a window", target);
  at_target_[static_cast<std::size_t>(target)].unlock();
}

void MpiWindow::get(int target, std::size_t at, std::span<float> to) {
  check_range(target, at, to.size());
  context_.traffic_meter->received(to.size_bytes());
  in_parts(to, at, most_moved, [&](float* data, int count, MPI_Aint from) {
    check(MPI_Get(data, count, MPI_FLOAT, target, from, count, MPI_FLOAT, float_window_), "get from a window", target);
  });
}

void MpiWindow::put(int target, std::size_t at, std::span<const float> from) {
  check_range(target, at, from.size());
  context_.traffic_meter->sent(from.size_bytes());
  in_parts(from, at, most_moved, [&](const float* data, int count, MPI_Aint to) {
    check(MPI_Put(data, count, MPI_FLOAT, target, to, count, MPI_FLOAT, float_window_), "put into a window", target);
  });
}

void MpiWindow::accumulate(int target, std::size_t at, std::span<const float> from) {
  check_range(target, at, from.size());
  context_.traffic_meter->sent(from.size_bytes());
  in_parts(from, at, most_accumulated, [&](const float* data, int count, MPI_Aint to) {
    check(MPI_Accumulate(data, count, MPI_FLOAT, target, to, count, MPI_FLOAT, MPI_SUM, float_window_),
          "accumulate into a window", target);
  });
}

std::uint64_t MpiWindow::fetch_add(int target, std::size_t counter, std::uint64_t value) {
  if (counter >= lengths_.at(2 * static_cast<std::size_t>(target) + 1))
    throw std::logic_error("a window has no such counter");
  std::uint64_t before = 0;
  check(MPI_Fetch_and_op(&value, &before, MPI_UINT64_T, target, static_cast<MPI_Aint>(counter), MPI_SUM, counter_window_),
        "addition to a counter", target);
  check(MPI_Win_flush(target, counter_window_), "addition to a counter", target);
  return before;
}

/// MPICH makes progress on requests of other ranks when it probes for messages; a flush alone rarely does that.
void MpiWindow::make_progress() const {
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, no_message_tag, context_.comm, &found, MPI_STATUS_IGNORE), "progress of a window",
        context_.rank);
}

/// Polls by adding zero to the counter, which reads it atomically.
std::optional<std::uint64_t> MpiWindow::await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) {
  const int spins = competition_.left_of(context_.patience).polls;
  Backoff backoff(competition_, context_.patience);
  for (int polls = 0;; ++polls) {
    const std::uint64_t value = fetch_add(context_.rank, counter, 0);
    if (value >= at_least) return value;
    make_progress();
    const double waited_s = backoff.waited_s();
    if (waited_s >= limit_s) return std::nullopt;
    if (context_.cancellation->requested())
      throw Failure(
          core::format("worker {} cancels its wait for a counter{}", context_.rank, context_.cancellation->reason()));
    if (waited_s > context_.stall_s)
      throw Failure(core::format("worker {} has waited {:.0f} s for counter {} of its window to become {}", context_.rank,
                                 waited_s, counter, at_least));
    if (polls > spins) backoff.pause();
  }
}

}  // namespace paragrad::comm
