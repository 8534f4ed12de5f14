#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "backend/device.hpp"
#include "comm/communicator.hpp"
#include "core/activity.hpp"

namespace paragrad::comm {

/// What one replica runs on: its peers, its device, and how to compute. An MPI rank, one of several workers of a process, or
/// an emulated worker.
class Worker {
 public:
  /// A piece of communication.
  using Task = std::function<void(Communicator&)>;

  virtual ~Worker() = default;

  Communicator& comm() { return comm_; }
  backend::Device& device() { return comm_.device(); }
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }

  /// Runs `task`, which computes and never communicates, and returns when the device has finished. Under MPI that is all. In
  /// the simulator the tasks of several emulated workers run concurrently on the host's cores, and a worker's clock advances
  /// by the work that its device counted.
  ///
  /// expected: a lower bound on that work. The simulator lets other workers advance up to the simulated time it implies, so
  /// a tight bound (most tasks can give it exactly) is what makes emulated workers run concurrently. More than the task's
  /// true work is a logic_error. A nested compute is part of the outer one.
  virtual void compute(const backend::WorkMeter& expected, const std::function<void()>& task) = 0;

  /// Runs the kernels that `kernels` puts into the queue it is given, and which may be executed after it has returned. It
  /// must do nothing else with the device. The device has finished on return.
  virtual void run_kernels(const std::function<void(backend::KernelQueue&)>& kernels) = 0;

  /// The same for kernels that are known beforehand, in this order.
  template <class... Kernels>
  void run(const Kernels&... kernels) {
    run_kernels([&](backend::KernelQueue& queue) { (queue.run(kernels), ...); });
  }

  /// Runs `task` concurrently with this worker's computation and communication: on a thread under MPI, on a second fiber in
  /// the simulator. The tasks of one worker run one after the other in launch order; all workers launch the same tasks in
  /// the same order.
  ///
  /// A task communicates through the communicator it receives, whose messages never match those of comm(), and computes on
  /// that communicator's device. Memory it reads or writes must stay untouched until join(). Not from within compute().
  /// If a second thread may not communicate, tasks run in join(): the same bits, but no overlap.
  virtual void launch(Task task) = 0;

  /// Returns when all launched tasks have ended. Rethrows the first error of a task; the tasks after it are dropped.
  virtual void join() = 0;

  /// Runs `task` as a service, concurrently with this worker's computation, communication and launched tasks. It shares the
  /// channel of the launched tasks of all workers, so tags must separate their messages: some tags are received by services
  /// only, others by tasks only. Receives from any source are allowed.
  ///
  /// Not collective: any worker may serve, one task at a time, which ends by returning. A service that fails ends its
  /// worker: join_service() rethrows the error; other waits of the worker fail under MPI, and the simulator reports the
  /// error instead of the resulting deadlock. Not from within compute().
  virtual void serve(Task task) = 0;

  /// Returns when the service has ended, at once if there is none. Rethrows its error.
  virtual void join_service() = 0;

  /// Counts what a task has done so far.
  using Steps = std::shared_ptr<const std::atomic<std::uint64_t>>;

  /// Runs a task that may never return, over a channel that only it uses. Returns whether it ended within `limit_s` or, if
  /// it counts its steps, without `limit_s` passing between two of them: a busy machine makes it slow. Collective, with
  /// nothing else launched. A task that did not end keeps running, so it must own all memory it touches, and MPI can no
  /// longer be finalised (see MpiWorker::part). Rethrows its error. In the simulator, and if tasks do not run concurrently,
  /// there is no limit.
  virtual bool attempt(Task task, double /*limit_s*/, Steps /*steps*/ = nullptr) {
    launch(std::move(task));
    join();
    return true;
  }

  /// For a worker that is about to end with an error: drops tasks that have not begun, makes the waits of the running task
  /// and of a service fail, and returns when they no longer touch memory. No task can be launched afterwards.
  virtual void abandon_tasks() noexcept = 0;

  /// Whether a service really runs concurrently. If a second thread may not communicate, it runs in join_service(): enough
  /// for a worker that does nothing else.
  bool serves_beside() const { return serves_beside_; }

  /// Which workers are still there, and what to do without one.
  Membership& membership() { return comm_.membership(); }

  /// This worker among all that were started, if its peers are only a group of them.
  Worker& all_ranks() { return *all_ranks_; }

  /// Records what this worker does; usually null.
  core::ActivityRecorder* recorder() { return recorder_; }

 protected:
  /// serves_beside: see above.
  Worker(Communicator& communicator, bool serves_beside) : comm_(communicator), serves_beside_(serves_beside) {}

  /// Wraps another worker, over a communicator that wraps the other's.
  Worker(Communicator& communicator, Worker& inner)
      : comm_(communicator),
        serves_beside_(inner.serves_beside_),
        all_ranks_(inner.all_ranks_),
        recorder_(inner.recorder_) {}

  void set_all_ranks(Worker& all) { all_ranks_ = &all; }
  void set_recorder(core::ActivityRecorder& recorder) { recorder_ = &recorder; }

 private:
  Communicator& comm_;
  bool serves_beside_;
  Worker* all_ranks_ = this;
  core::ActivityRecorder* recorder_ = nullptr;
};

/// Declare it after the memory that tasks use, in the same scope: if an exception unwinds it, the tasks are abandoned first.
class TaskGuard {
 public:
  explicit TaskGuard(Worker& worker) : worker_(worker) {}
  ~TaskGuard() {
    if (std::uncaught_exceptions() > exceptions_at_start_) worker_.abandon_tasks();
  }
  TaskGuard(const TaskGuard&) = delete;
  TaskGuard& operator=(const TaskGuard&) = delete;

 private:
  Worker& worker_;
  int exceptions_at_start_ = std::uncaught_exceptions();
};

}  // namespace paragrad::comm
