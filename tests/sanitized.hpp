#pragma once

/// Whether this program is built with sanitizers, which make it several times slower. Tests then leave out cases that differ
/// from others only in size; the build without sanitizers runs them all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
