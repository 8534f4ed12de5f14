#pragma once

// Defined by the sanitizers' run-time libraries, otherwise null. The compiler's macros would not do: a test's object may
// come from a build without sanitizers (PARAGRAD_TESTS_OF).
extern "C" {
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
}

/// Whether this program is built with sanitizers, which make it several times slower. Tests then leave out cases that differ
/// from others only in size; the build without sanitizers runs them all.
inline const bool sanitized = &__asan_init != nullptr || &__tsan_init != nullptr;
