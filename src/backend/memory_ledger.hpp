#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace paragrad::backend {

/// Tracks the allocations of devices that share one memory. Each emulated worker has its own device, so the ledger can tell
/// how many workers fit. Thread-safe.
class MemoryLedger {
 public:
  void took(const void* device, const void* address, std::size_t bytes);
  void gave_back(const void* address);

  /// Whether an address lies in what has been taken and not given back.
  bool holds(const void* address) const;

  /// Maximum number of devices that fit into all current allocations plus `free` bytes, if each needs as much as the
  /// largest: `device` needs its current bytes plus `wanted`, the others their current bytes.
  std::size_t room(const void* device, std::size_t wanted, std::size_t free) const;

 private:
  struct Piece {
    const void* device;
    std::size_t bytes;
  };

  mutable std::mutex mutex_;
  std::map<const void*, Piece> pieces_;           // by address
  std::map<const void*, std::size_t> of_device_;  // bytes
};

}  // namespace paragrad::backend
