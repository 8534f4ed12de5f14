#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "backend/kernels.hpp"
#include "comm/communicator.hpp"
#include "core/activity.hpp"

namespace paragrad::comm {

/// One replica's seat: its peers, its device, and the way to compute. An MPI rank, or an emulated worker.
class Worker {
 public:
  /// A piece of communication.
  using Task = std::function<void(Communicator&)>;

  explicit Worker(Communicator& communicator) : comm_(communicator) {}
  virtual ~Worker() = default;

  Communicator& comm() { return comm_; }
  backend::Device& device() { return comm_.device(); }
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }

  /// Runs `task`, which computes and never communicates, and returns when the device has finished. Under MPI that is all; an
  /// emulated worker's task runs beside those of the others on the host's cores while its clock advances by the work that
  /// the device counted.
  ///
  /// expected: a lower bound of that work. The simulator lets other workers go on up to the simulated time it implies, so a
  /// good bound (most tasks know it exactly) is what makes emulated workers run concurrently. More than the task's true work
  /// is a logic_error. A compute inside a compute belongs to the outer one.
  virtual void compute(const backend::WorkMeter& expected, const std::function<void()>& task) = 0;

  /// Runs a few kernels, and nothing else, on the device it hands over. `kernels` may be called more than once (the
  /// simulator first asks a device without arithmetic what they cost). The device has finished on return.
  virtual void run_kernels(const std::function<void(backend::Device&)>& kernels) = 0;

  /// Runs `task` beside this worker's computing and talking: a thread under MPI, a second fiber in the simulator. The tasks
  /// of one worker run one after the other, in the order of launching; all workers launch the same tasks in the same order.
  ///
  /// A task talks through the communicator it gets, whose messages never meet those of comm(), and computes with that
  /// communicator's device. What it reads or writes belongs to it until join(). Not from within compute().
  /// Where a second thread may not communicate, tasks wait for join() and run there: the same bits, nothing side by side.
  virtual void launch(Task task) = 0;

  /// Returns when all launched tasks have ended. Rethrows the first error of one; the tasks behind it are dropped.
  virtual void join() = 0;

  /// Runs `task` on a second lane, beside this worker's computing and talking and beside its launched tasks. It talks over
  /// the channel of the launched tasks, those of all workers and of its own, so its messages and theirs are told apart by
  /// tags: some that only services receive, others that only tasks receive. Receives from any source are fine.
  ///
  /// Not collective: any worker may serve, one task at a time, which ends by returning. A service that fails ends its
  /// worker: join_service() rethrows the error; other waits of the worker fail under MPI, and in the simulator the error is
  /// told instead of the deadlock that comes of it. Not from within compute().
  virtual void serve(Task task) = 0;

  /// Returns when the service has ended, at once if there is none. Rethrows its error.
  virtual void join_service() = 0;

  /// Whether a service really runs beside. Where a second thread may not communicate it waits for join_service() and runs
  /// there: enough for a worker that does nothing else.
  virtual bool serves_beside() const = 0;

  /// Runs a task that may never come back, over a channel that only it uses: whether it ended within `limit_s`. Collective,
  /// while nothing else is launched. Where it did not, it goes on for ever, so it must own all that it touches; and MPI
  /// cannot be ended in common any more (see MpiWorker::part). Rethrows its error. Where nothing runs beside, and in the
  /// simulator, there is no limit.
  virtual bool attempt(Task task, double /*limit_s*/) {
    launch(std::move(task));
    join();
    return true;
  }

  /// Whether the others can go on without this worker if a signal kills it from now on; at first they cannot, and end with
  /// it. Nothing where the program was not made for that (see MpiSession).
  virtual void set_expendable(bool /*expendable*/) {}

  /// For a worker that is about to end with an error: drops the tasks not begun, makes the waits of the one under way and of
  /// a service fail and returns when their memory is no longer touched. No task can be launched after it.
  virtual void abandon_tasks() noexcept = 0;

  /// Starts to read `bytes` of this worker's data from where they are kept, beside everything else that it does; and waits
  /// until they are here. In the simulator that takes simulated time on the platform's file system; elsewhere reading is the
  /// loader's business and these do nothing. Each start is followed by one finish.
  virtual void start_read(std::uint64_t /*bytes*/) {}
  virtual void finish_read() {}

  /// From now on without that peer, which is gone; those behind it move up. rank: as at the beginning, whoever has gone
  /// since. All that are left call it before they talk again. Only a ShrinkingWorker can.
  virtual void leave_out(int rank) {
    throw Failure("worker " + std::to_string(rank) + " is gone, and the run cannot continue without it");
  }

  /// Some peer is gone for good, this worker has found out, and the program goes on: at its end it must not wait for all.
  virtual void tell_loss() { knows_of_loss_ = true; }
  bool knows_of_loss() const { return knows_of_loss_; }

  /// The same seat among all that were started, where this is one in a group of them.
  virtual Worker& all_ranks() { return *this; }

  /// Who is to be told what this worker does; as a rule nobody.
  virtual core::ActivityRecorder* recorder() { return nullptr; }

 private:
  Communicator& comm_;
  bool knows_of_loss_ = false;
};

/// Stands after the memory that tasks use, in the same scope: an error that unwinds it abandons the tasks first.
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
