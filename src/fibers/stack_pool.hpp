#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace paragrad::fibers {

/// The stacks of all fibers in one mapping that costs address space, not memory: a page becomes resident when it is touched.
/// Up to `guarded_at_most` stacks have a guard page below; more would exceed the kernel's limit on mappings per process.
/// Beyond that an overflow is detected by checking that the lowest words of a stack are still zero: reading a page that was
/// never written costs no memory.
class StackPool {
 public:
  StackPool(std::size_t count, std::size_t stack_bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  boost::context::stack_context allocate();
  void deallocate(boost::context::stack_context& stack);

  bool guarded() const { return count_ <= guarded_at_most; }

  /// Gives back the memory of the pages of a stack below `in_use`, an address in it; what they held is lost, except for the
  /// lowest.
  static void release_below(const void* lowest, const void* in_use);

  /// Whether a stack without guard page seems to have been too small.
  static bool overflown(const void* lowest) {
    std::uint64_t words[8];
    std::memcpy(words, lowest, sizeof words);
    return (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) != 0;
  }

 private:
  static constexpr std::size_t guarded_at_most = 8192;

  std::byte* base_ = nullptr;
  std::size_t count_;
  std::size_t stack_bytes_;
  std::vector<std::size_t> free_;
};

/// Boost.Context takes its allocator by value.
struct StackAllocator {
  StackPool* pool;
  boost::context::stack_context allocate() { return pool->allocate(); }
  void deallocate(boost::context::stack_context& stack) { pool->deallocate(stack); }
};

}  // namespace paragrad::fibers
