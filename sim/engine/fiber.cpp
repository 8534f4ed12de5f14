#include "sim/engine/fiber.hpp"

#include <cxxabi.h>

#include <cstring>
#include <exception>

#include "core/format.hpp"
#include "sim/engine/sanitizers.hpp"

namespace paragrad::sim {

Fiber::Fiber(Engine& engine, StackPool& stacks, std::uint32_t actor, std::function<void()> body)
    : engine_(engine), actor_(actor), body_(std::move(body)), guarded_(stacks.guarded()) {
  StackPool* pool = &stacks;
  const auto stack = pool->allocate();
  own_stack_ = static_cast<std::byte*>(stack.sp) - stack.size;
  own_stack_bytes_ = stack.size;
  own_thread_ = sanitizers::make_thread();
  context_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                   StackAllocator{pool}, [this](boost::context::fiber&& caller) {
                                     sanitizers::enter_stack(nullptr, &engine_stack_, &engine_stack_bytes_);
                                     caller_ = std::move(caller);
                                     run_body();
                                     sanitizers::leave_stack(nullptr, engine_stack_, engine_stack_bytes_);
                                     sanitizers::become_thread(engine_thread_);
                                     return std::move(caller_);
                                   });
}

Fiber::~Fiber() {
  context_ = {};  // unwinds a stack that is left
  sanitizers::end_thread(own_thread_);
}

void Fiber::run_body() {
  std::exception_ptr failure;
  try {
    try {
      if (!engine_.abandoning_) body_();
    } catch (const Abandoned&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
    }
    engine_.settle();  // it ends, or fails, in order with the others
  } catch (const Abandoned&) {
    return;
  }
  if (!engine_.failure_) engine_.failure_ = failure;
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
  sanitizers::leave_stack(&engine_fake_stack_, own_stack_, own_stack_bytes_);
  engine_thread_ = sanitizers::current_thread();
  sanitizers::become_thread(own_thread_);
  context_ = std::move(context_).resume();
  sanitizers::enter_stack(engine_fake_stack_, nullptr, nullptr);
  swap_handled();
  if (!guarded_ && !ended() && StackPool::overflown(own_stack_))
    throw StackOverflow(core::format("a stack of {} bytes is too small for emulated worker {}", own_stack_bytes_, actor_));
}

void Fiber::switch_out() {
  sanitizers::leave_stack(&own_fake_stack_, engine_stack_, engine_stack_bytes_);
  sanitizers::become_thread(engine_thread_);
  caller_ = std::move(caller_).resume();
  sanitizers::enter_stack(own_fake_stack_, &engine_stack_, &engine_stack_bytes_);
  if (engine_.abandoning_) throw Abandoned{};
}

}  // namespace paragrad::sim
