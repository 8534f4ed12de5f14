#include "hosting/scheduler.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "comm/membership.hpp"
#include "comm/mpi/backoff.hpp"
#include "core/format.hpp"

namespace paragrad::hosting {

Scheduler::Fiber::Fiber(Scheduler& scheduler, int worker, std::function<void()> body)
    : fibers::Fiber(scheduler.stacks_, scheduler.abandoning_,
                    [&scheduler, body = std::move(body)] { scheduler.run_and_end(body); }),
      worker_(worker) {}

Scheduler::Scheduler(std::size_t fibers, int threads, std::size_t stack_bytes)
    : stacks_(fibers, stack_bytes), pool_(threads == 1 ? 0 : threads) {}

Scheduler::~Scheduler() {
  while (!computing_.empty()) {  // tasks refer to the stacks of their fibers
    pool_.collect(true, finished_);
    take_finished();
  }
  abandoning_ = true;
  for (const auto& fiber : fibers_)
    if (!fiber->ended()) resume(*fiber);
}

void Scheduler::spawn(int worker, std::function<void()> body) {
  fibers_.push_back(std::make_unique<Fiber>(*this, worker, std::move(body)));
  ++live_;
  ready_.push_back(fibers_.back().get());
}

void Scheduler::run() {
  while (live_ > 0 && !failure_) {
    if (!computing_.empty()) {
      pool_.collect(false, finished_);
      take_finished();
    }
    if (poll_) poll_();
    end_waits();
    if (ready_.empty()) {
      poll_ ? poll_for_something() : wait_for_something();
      continue;
    }
    Fiber& next = *ready_.front();
    ready_.pop_front();
    resume(next);
  }
  if (failure_) std::rethrow_exception(failure_);
}

/// Until a task of the pool has ended or a fiber's wait has reached its limit.
void Scheduler::wait_for_something() {
  if (computing_.empty() && deadlines_.empty())
    throw std::logic_error(core::format("the workers wait for each other: {}", Fiber::waits_of(fibers_)));
  const double left_s = deadlines_.empty() ? forever : deadlines_.begin()->first - now_s();
  if (computing_.empty()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(left_s, 0.0)));
  } else if (left_s >= forever) {
    pool_.collect(true, finished_);
  } else if (left_s > 0) {
    pool_.collect_for(left_s, finished_);
  }
  take_finished();
}

/// The same, or until a message has come.
void Scheduler::poll_for_something() {
  // While all threads are busy, what a message would let begin has to wait for them anyway.
  constexpr double look_s = 50e-6, look_when_busy_s = 1e-3;
  comm::Backoff backoff(competition_, comm::Patience::of_sharers());
  while (ready_.empty()) {
    if (computing_.empty()) {
      if (backoff.waited_s() > stall_s_)
        throw comm::Failure(core::format("for {:g} s nothing has happened, while {}", stall_s_, Fiber::waits_of(fibers_)));
      backoff.pause();
    } else {
      pool_.collect_for(computing_.size() < pool_.threads() ? look_s : look_when_busy_s, finished_);
      take_finished();
    }
    poll_();
    end_waits();
  }
}

void Scheduler::take_finished() {
  for (const fibers::HostPool::Finished& result : finished_) {
    Computing& task = *computing_.at(result.id);
    computing_.erase(result.id);
    task.error = result.error;
    ready_.push_back(task.fiber);
  }
  finished_.clear();
}

void Scheduler::end_waits() {
  if (deadlines_.empty()) return;
  const double now = now_s();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    make_ready(*deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
  }
}

void Scheduler::compute(std::function<void()> task) {
  if (pool_.threads() == 0) {
    task();
    ready_.push_back(current_);  // the others' turn
    return current_->switch_out();
  }
  Computing computing{current_, nullptr};
  const std::uint64_t id = tasks_++;
  computing_.emplace(id, &computing);
  pool_.submit(id, std::move(task));
  current_->switch_out();
  if (computing.error) std::rethrow_exception(computing.error);
}

bool Scheduler::block_for(fibers::Wait reason, double limit_s) {
  Fiber& fiber = *current_;
  fiber.blocked_ = true;
  fiber.woken_ = false;
  fiber.set_waiting_for(reason);
  if (limit_s < forever) deadlines_.emplace(now_s() + std::max(limit_s, 0.0), &fiber);
  fiber.switch_out();
  fiber.set_waiting_for({});
  return fiber.woken_;
}

void Scheduler::wake(Fiber& fiber) {
  if (!fiber.blocked_) return;  // the limit of its wait is over, or somebody else has woken it
  const auto is_its = [&](const auto& deadline) { return deadline.second == &fiber; };
  if (const auto its = std::ranges::find_if(deadlines_, is_its); its != deadlines_.end()) deadlines_.erase(its);
  fiber.woken_ = true;
  make_ready(fiber);
}

void Scheduler::make_ready(Fiber& fiber) {
  fiber.blocked_ = false;
  ready_.push_back(&fiber);
}

void Scheduler::resume(Fiber& fiber) {
  current_ = &fiber;
  try {
    fiber.switch_in();
  } catch (const fibers::StackOverflow&) {
    for (auto& broken : fibers_) static_cast<void>(broken.release());  // unwinding what was overwritten would do more damage
    fibers_.clear();
    throw;
  }
  current_ = nullptr;
  if (fiber.ended()) --live_;
}

/// A fiber's body.
void Scheduler::run_and_end(const std::function<void()>& body) {
  try {
    body();
  } catch (const fibers::Fiber::Abandoned&) {
    throw;
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

bool Waits::block_for(fibers::Wait reason, double limit_s) {
  stop_if_abandoned();
  waiting_ = &scheduler_.current();
  const bool woken = scheduler_.block_for(reason, limit_s);
  waiting_ = nullptr;
  return woken;
}

void Waits::stop_if_abandoned() const {
  if (abandoned_) throw comm::Failure("the worker of this task has ended");
}

void Waits::abandon() {
  abandoned_ = true;
  if (waiting_ != nullptr) scheduler_.wake(*waiting_);
}

}  // namespace paragrad::hosting
