#include "fibers/fiber.hpp"

#include <cxxabi.h>

#include <cstring>
#include <utility>

#include "core/format.hpp"
#include "fibers/sanitizers.hpp"

namespace paragrad::fibers {

Fiber::Fiber(StackPool& stacks, const bool& abandoning, std::function<void()> body)
    : abandoning_(abandoning), body_(std::move(body)), guarded_(stacks.guarded()) {
  StackPool* pool = &stacks;
  const auto stack = pool->allocate();
  own_stack_ = static_cast<std::byte*>(stack.sp) - stack.size;
  own_stack_bytes_ = stack.size;
  own_thread_ = sanitizers::make_thread();
  context_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                   StackAllocator{pool}, [this](boost::context::fiber&& caller) {
                                     sanitizers::enter_stack(nullptr, &caller_stack_, &caller_stack_bytes_);
                                     caller_ = std::move(caller);
                                     run_body();
                                     sanitizers::leave_stack(nullptr, caller_stack_, caller_stack_bytes_);
                                     sanitizers::become_thread(caller_thread_);
                                     return std::move(caller_);
                                   });
}

Fiber::~Fiber() {
  context_ = {};  // unwinds a stack that is left
  sanitizers::end_thread(own_thread_);
}

void Fiber::run_body() {
  try {
    if (!abandoning_) body_();
  } catch (const Abandoned&) {
    return;
  }
}

constexpr std::size_t shown_waits = 8;

void Fiber::Waits::add(const Fiber& fiber) {
  const Wait wait = fiber.waiting_for();
  if (wait.what == nullptr || ++count_ > shown_waits) return;
  shown_ += core::format("{}{} waits for {} {}", count_ > 1 ? "; " : "", fiber.name(), wait.what,
                         wait.peer < 0 ? "any worker" : core::format("worker {}", wait.peer));
}

std::string Fiber::Waits::text() const {
  return count_ > shown_waits ? core::format("{}; and {} more", shown_, count_ - shown_waits) : shown_;
}

// Layout of __cxa_eh_globals: Itanium C++ ABI, exception handling, section 2.2.2.
void Fiber::swap_handled() {
  void* of_thread = abi::__cxa_get_globals();
  Handled other;
  std::memcpy(&other, of_thread, sizeof other);
  std::memcpy(of_thread, &handled_, sizeof handled_);
  handled_ = other;
}

void Fiber::switch_in() {
  swap_handled();
  sanitizers::leave_stack(&caller_fake_stack_, own_stack_, own_stack_bytes_);
  caller_thread_ = sanitizers::current_thread();
  sanitizers::become_thread(own_thread_);
  context_ = std::move(context_).resume();
  sanitizers::enter_stack(caller_fake_stack_, nullptr, nullptr);
  swap_handled();
  if (!guarded_ && !ended() && StackPool::overflown(own_stack_))
    throw StackOverflow(core::format("a stack of {} bytes is too small for {}", own_stack_bytes_, name()));
}

void Fiber::switch_out() {
  if (std::exchange(releases_stack_, false)) {
    constexpr std::ptrdiff_t of_this_call = 512;  // bytes, with those of the functions that it calls
    StackPool::release_below(own_stack_, static_cast<const std::byte*>(__builtin_frame_address(0)) - of_this_call);
  }
  sanitizers::leave_stack(&own_fake_stack_, caller_stack_, caller_stack_bytes_);
  sanitizers::become_thread(caller_thread_);
  caller_ = std::move(caller_).resume();
  sanitizers::enter_stack(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
  if (abandoning_) throw Abandoned{};
}

}  // namespace paragrad::fibers
