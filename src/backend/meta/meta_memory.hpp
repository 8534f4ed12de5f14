#pragma once

#include <cstddef>
#include <cstdint>

namespace paragrad::backend {

/// Base address of all memory of the device meta: addresses for arithmetic that no process can map (bits 48 to 62 of a user
/// address are zero on x86-64, and bits 52 to 55 on 64-bit ARM), so any access faults. Nothing is reserved: a hundred
/// thousand workers with any model cost neither mappings nor time.
inline constexpr std::uintptr_t meta_memory = 0x40f0'0000'0000'0000;

inline bool is_meta_memory(const void* address) { return reinterpret_cast<std::uintptr_t>(address) >= meta_memory; }

}  // namespace paragrad::backend
