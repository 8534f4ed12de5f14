#include "sim/engine/engine.hpp"

#include <algorithm>

#include "core/format.hpp"
#include "sim/engine/timed_fiber.hpp"

namespace paragrad::sim {

Engine::Engine(std::size_t fibers, int host_threads, std::size_t stack_bytes)
    : stacks_(fibers, stack_bytes), pool_(host_threads) {}

Fiber::Fiber(Engine& engine, fibers::StackPool& stacks, std::uint32_t actor, std::function<void()> body)
    : fibers::Fiber(stacks, engine.abandoning_, [&engine, body = std::move(body)] { engine.run_and_end(body); }),
      engine_(engine),
      actor_(actor) {}

Engine::~Engine() { unwind(); }

void Engine::unwind() {
  while (!computing_.empty()) take_finished(true);  // tasks refer to the stacks of their fibers
  abandoning_ = true;
  for (const auto& fiber : fibers_)
    if (!fiber->ended()) resume(*fiber);
}

void Engine::spawn(std::uint32_t actor, std::function<void()> body) {
  fibers_.push_back(std::make_unique<Fiber>(*this, stacks_, actor, std::move(body)));
  ++live_;
  schedule(now(), actor, *fibers_.back(), 0);
}

bool Engine::run(const std::function<bool(Time)>& stop_when) {
  while (live_ > 0 && !failure_) {
    take_finished(false);
    if (!bounds_.empty() && (events_.empty() || *bounds_.begin() < events_.top().key)) {
      take_finished(true);
      continue;
    }
    if (events_.empty()) {
      if (when_stuck_ && when_stuck_()) continue;
      report_deadlock();
    }
    if (stop_when && stop_when(events_.top().key.time)) return false;
    const Event event = events_.pop();
    now_ = event.key.time;
    ++fired_;
    event.handler->fire(event.argument);
  }
  if (failure_) std::rethrow_exception(failure_);
  return true;
}

void Engine::schedule(Time at, std::uint32_t actor, EventHandler& handler, std::uint64_t argument) {
  if (at < now_) throw std::logic_error("an event was scheduled in the past");
  expect_on_clock(at);
  events_.push({{at, actor, sequence_++}, &handler, argument});
}

Time Engine::now() const {
  if (current_ != nullptr && current_->own_time() > now_)
    throw std::logic_error("a fiber that is ahead of the common clock read it without settling");
  return now_;
}

Time Engine::own_time() const { return std::max(now_, current_->own_time()); }

void Engine::pass_until(Time at) {
  expect_on_clock(at);
  current_->set_own_time(std::max(at, own_time()));
}

void Engine::settle() {
  if (current_->own_time() <= now_) return;
  schedule(current_->own_time(), current_->actor(), *current_, 0);
  suspend();
}

void Engine::settle_unwinding() noexcept {
  if (abandoning_) return;
  try {
    settle();
  } catch (const fibers::Fiber::Abandoned&) {  // another's error came first; this fiber is being unwound already
  }
}

// Suspends even for zero duration, so that other fibers of the same instant can run.
void Engine::sleep_until(Time at) {
  if (at < own_time()) throw std::logic_error("a fiber cannot sleep until a time in the past");
  schedule(at, current_->actor(), *current_, 0);
  suspend();
}

void Engine::block(Wait reason) {
  current_->set_waiting_for(reason);
  suspend();
}

void Engine::release_unused_stack() {
  constexpr std::size_t many = 1000;
  if (fibers_.size() >= many) current_->release_unused_stack();
}

void Engine::wake_at(Fiber& fiber, Time at) {
  fiber.set_waiting_for({});
  schedule(std::max(at, fiber.own_time()), fiber.actor(), fiber, 0);
}

void Engine::compute(Time at_least, std::function<void()> task, const std::function<Time()>& duration) {
  settle();
  expect_on_clock(now_ + at_least);
  Computing computing{current_, now_, at_least, sequence_++, &duration, nullptr};
  computing_.emplace(computing.sequence, &computing);
  bounds_.insert(bound(computing));
  pool_.submit(computing.sequence, std::move(task));
  suspend();
  if (computing.error) std::rethrow_exception(computing.error);
}

EventKey Engine::bound(const Computing& task) { return {task.start + task.at_least, task.fiber->actor(), task.sequence}; }

void Engine::take_finished(bool wait) {
  if (computing_.empty()) return;
  finished_.clear();
  pool_.collect(wait, finished_);
  for (const fibers::HostPool::Finished& result : finished_) {
    Computing& task = *computing_.at(result.id);
    computing_.erase(result.id);
    bounds_.erase(bound(task));
    task.error = result.error;
    Time duration = result.error ? task.at_least : (*task.duration)();
    if (duration < task.at_least)
      task.error = std::make_exception_ptr(std::logic_error("a computation was shorter than its announced lower bound"));
    if (!task.error && task.start + duration >= never) {
      try {
        refuse_end_of_clock();
      } catch (...) {
        task.error = std::current_exception();
      }
    }
    // A failed task has no duration; its fiber gets the error at the earliest time at which it could have continued.
    if (task.error) duration = task.at_least;
    events_.push({{task.start + duration, task.fiber->actor(), task.sequence}, task.fiber, 0});
  }
}

void Engine::resume(Fiber& fiber) {
  current_ = &fiber;
  try {
    fiber.switch_in();
  } catch (const StackOverflow&) {
    for (auto& broken : fibers_) static_cast<void>(broken.release());  // unwinding what was overwritten would do more damage
    fibers_.clear();
    throw;
  }
  current_ = nullptr;
  if (fiber.ended()) --live_;
}

void Engine::suspend() { current_->switch_out(); }

/// A fiber's body. It ends, or fails, in order with the others.
void Engine::run_and_end(const std::function<void()>& body) {
  std::exception_ptr failure;
  try {
    body();
  } catch (const fibers::Fiber::Abandoned&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
  }
  settle();
  if (!failure_) failure_ = failure;
}

void Engine::report_deadlock() {
  for (const auto& fiber : fibers_)
    if (!fiber->ended()) now_ = std::max(now_, fiber->own_time());
  throw Deadlock(core::format("deadlock at simulated time {} s: {}", to_seconds(now_), Fiber::waits_of(fibers_)));
}

}  // namespace paragrad::sim
