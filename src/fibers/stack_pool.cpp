#include "fibers/stack_pool.hpp"

#include <sys/mman.h>

#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "fibers/sanitizers.hpp"

namespace paragrad::fibers {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

StackPool::StackPool(std::size_t count, std::size_t stack_bytes)
    : count_(count), stack_bytes_((stack_bytes + page - 1) / page * page) {
  const std::size_t bytes = count_ * stack_bytes_;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    throw core::ConfigError(
        core::format("no address space for the stacks of {} fibers ({} MB); use fewer workers", count, bytes / 1000000));
  base_ = static_cast<std::byte*>(memory);
  // A huge page under each stack would make every touched stack resident as a whole.
  madvise(base_, bytes, MADV_NOHUGEPAGE);
  for (std::size_t i = count_; i > 0; --i) free_.push_back(i - 1);
  if (guarded())
    for (std::size_t i = 0; i < count_; ++i) mprotect(base_ + i * stack_bytes_, page, PROT_NONE);
}

StackPool::~StackPool() {
  // AddressSanitizer's marks on these stacks must not outlive them: the next mapping may get the same address.
  sanitizers::forget_stacks(base_, count_ * stack_bytes_);
  munmap(base_, count_ * stack_bytes_);
}

boost::context::stack_context StackPool::allocate() {
  if (free_.empty()) throw std::logic_error("more fibers than the stack pool was made for");
  boost::context::stack_context stack;
  stack.size = stack_bytes_;
  stack.sp = base_ + (free_.back() + 1) * stack_bytes_;  // stacks grow downwards
  free_.pop_back();
  return stack;
}

void StackPool::deallocate(boost::context::stack_context& stack) {
  const auto* top = static_cast<std::byte*>(stack.sp);
  release_below(top - stack_bytes_, top);
  free_.push_back(static_cast<std::size_t>(top - base_) / stack_bytes_ - 1);
}

void StackPool::release_below(const void* lowest, const void* in_use) {
  auto* begin = const_cast<std::byte*>(static_cast<const std::byte*>(lowest)) + page;  // the lowest shows an overflow
  const std::size_t bytes = static_cast<std::size_t>(static_cast<const std::byte*>(in_use) - begin) / page * page;
  madvise(begin, bytes, MADV_DONTNEED);
}

}  // namespace paragrad::fibers
