#pragma once

/// Whether sanitizers watch this program. Then cases that differ in size alone are left out: what they compute is compared
/// without sanitizers, which take ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
