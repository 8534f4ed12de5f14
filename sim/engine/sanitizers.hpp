#pragma once

// What the sanitizers have to be told about fibers; nothing without them.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace paragrad::sim::sanitizers {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool watches_stacks = true;  // stops a program that writes beyond one
/// The stack is about to change to another. from: keeps what belongs to the one that is left; nullptr where it ends.
inline void leave_stack(void** from, const void* to_lowest, std::size_t to_bytes) {
  __sanitizer_start_switch_fiber(from, to_lowest, to_bytes);
}
/// The stack has changed. kept: what leave_stack gave when this one was left. from_…: where to put the one that was left.
inline void enter_stack(void* kept, const void** from_lowest, std::size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(kept, from_lowest, from_bytes);
}
/// The memory is used for something else from now on.
inline void forget_stacks(const void* lowest, std::size_t bytes) { __asan_unpoison_memory_region(lowest, bytes); }
#else
inline constexpr bool watches_stacks = false;
inline void leave_stack(void**, const void*, std::size_t) {}
inline void enter_stack(void*, const void**, std::size_t*) {}
inline void forget_stacks(const void*, std::size_t) {}
#endif

// ThreadSanitizer takes fibers for threads that the program itself switches.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t most_fibers = 4000;  // that it can follow, beside what else a process has
inline constexpr bool remembers_fibers = true;    // that have ended: each costs some 0.4 MB for good
inline void* current_thread() { return __tsan_get_current_fiber(); }
inline void* make_thread() { return __tsan_create_fiber(0); }
inline void become_thread(void* thread) { __tsan_switch_to_fiber(thread, 0); }
inline void end_thread(void* thread) { __tsan_destroy_fiber(thread); }
#else
inline constexpr std::size_t most_fibers = ~std::size_t{0};
inline constexpr bool remembers_fibers = false;
inline void* current_thread() { return nullptr; }
inline void* make_thread() { return nullptr; }
inline void become_thread(void*) {}
inline void end_thread(void*) {}
#endif

}  // namespace paragrad::sim::sanitizers
