#pragma once

// Notifies the sanitizers of fiber switches; does nothing without sanitizers.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace paragrad::fibers::sanitizers {

#if defined(__SANITIZE_ADDRESS__)
/// Called before switching to another stack. from: saves the state of the stack being left; nullptr if it ends.
inline void leave_stack(void** from, const void* to_lowest, std::size_t to_bytes) {
  __sanitizer_start_switch_fiber(from, to_lowest, to_bytes);
}
/// Called after a stack switch. kept: what leave_stack saved when this stack was left. from_…: receives the stack left.
inline void enter_stack(void* kept, const void** from_lowest, std::size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(kept, from_lowest, from_bytes);
}
/// Called before the memory is used for something else.
inline void forget_stacks(const void* lowest, std::size_t bytes) { __asan_unpoison_memory_region(lowest, bytes); }
#else
inline void leave_stack(void**, const void*, std::size_t) {}
inline void enter_stack(void*, const void**, std::size_t*) {}
inline void forget_stacks(const void*, std::size_t) {}
#endif

// ThreadSanitizer treats fibers as threads that the program switches itself. It can track about 4000 besides threads; an
// ended one keeps 0.4 MB.
#if defined(__SANITIZE_THREAD__)
inline void* current_thread() { return __tsan_get_current_fiber(); }
inline void* make_thread() { return __tsan_create_fiber(0); }
inline void become_thread(void* thread) { __tsan_switch_to_fiber(thread, 0); }
inline void end_thread(void* thread) { __tsan_destroy_fiber(thread); }
#else
inline void* current_thread() { return nullptr; }
inline void* make_thread() { return nullptr; }
inline void become_thread(void*) {}
inline void end_thread(void*) {}
#endif

}  // namespace paragrad::fibers::sanitizers
