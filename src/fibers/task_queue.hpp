#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "fibers/fiber.hpp"

namespace paragrad::fibers {

/// An additional fiber of a worker, which runs tasks one after the other in launch order. Created at the first launch, so
/// workers that never launch cost nothing.
///
/// Scheduler: has a type Fiber, and for the running fiber current(), block(Wait), wake(Fiber&), settle(), which lets the
/// others catch up, and settle_unwinding(), the same for a destructor.
template <class Scheduler>
class TaskQueue {
 public:
  using Task = std::function<void()>;

  /// purpose: of the deadlock report. spawn: creates a fiber of this worker. untold: the first error that no join() has
  /// rethrown yet, of all task fibers.
  TaskQueue(Scheduler& scheduler, Wait purpose, std::function<void(Task)> spawn, std::exception_ptr& untold)
      : scheduler_(scheduler), purpose_(purpose), spawn_(std::move(spawn)), untold_(untold) {}

  void launch(Task task) {
    scheduler_.settle();
    const bool begins = !state_;
    if (begins) state_ = std::make_shared<State>(scheduler_, untold_);
    state_->tasks.push_back(std::move(task));
    if (begins)
      spawn_([state = state_] { state->work(); });
    else
      state_->wake(state_->idle);
  }

  void join() {
    if (!state_) return;
    scheduler_.settle();
    while (state_->busy || !state_->tasks.empty()) {
      state_->joining = &scheduler_.current();
      scheduler_.block(purpose_);
    }
    if (const std::exception_ptr error = std::exchange(state_->error, nullptr)) {
      if (state_->untold == error) state_->untold = nullptr;
      std::rethrow_exception(error);
    }
  }

  bool busy() const { return state_ && state_->busy; }

  /// Whether join() would wait or throw.
  bool occupied() const { return state_ && (state_->busy || !state_->tasks.empty() || state_->error != nullptr); }

  /// Lets the others catch up; then drops the tasks that have not begun.
  void abandon() noexcept {
    if (!state_) return;
    scheduler_.settle_unwinding();  // until then tasks continue, and their memory must exist
    state_->tasks.clear();
  }

  /// Joins and ends the fiber; call before the worker's own fiber ends.
  void finish() {
    join();
    if (!state_) return;
    state_->closing = true;
    state_->wake(state_->idle);
  }

 private:
  using SchedulersFiber = typename Scheduler::Fiber;

  // Belongs to the fiber, too, which may outlive the worker when the scheduler is abandoned.
  struct State {
    State(Scheduler& scheduler_, std::exception_ptr& untold_) : scheduler(scheduler_), untold(untold_) {}

    Scheduler& scheduler;
    std::exception_ptr& untold;
    std::deque<Task> tasks;
    bool busy = false;
    bool closing = false;
    std::exception_ptr error;
    SchedulersFiber* idle = nullptr;     // the fiber of the tasks, if it has none
    SchedulersFiber* joining = nullptr;  // the worker's own fiber, if it waits for the tasks

    void wake(SchedulersFiber*& fiber) {
      if (fiber != nullptr) scheduler.wake(*std::exchange(fiber, nullptr));
    }

    void work() {
      while (true) {
        while (tasks.empty()) {
          wake(joining);
          if (closing) return;
          idle = &scheduler.current();
          scheduler.block({});
        }
        run(std::exchange(tasks.front(), nullptr));
      }
    }

    void run(const Task& task) {
      tasks.pop_front();
      busy = true;
      try {
        task();
      } catch (const std::exception&) {  // and not what unwinds an abandoned fiber
        if (!error) error = std::current_exception();
        if (!untold) untold = error;
        tasks.clear();
      }
      scheduler.settle();
      busy = false;
    }
  };

  Scheduler& scheduler_;
  Wait purpose_;
  std::function<void(Task)> spawn_;
  std::exception_ptr& untold_;
  std::shared_ptr<State> state_;  // from the first launch on: most of many emulated workers never launch
};

}  // namespace paragrad::fibers
