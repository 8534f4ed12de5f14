#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace paragrad::backend {

/// What devices have of a memory that they share. Each emulated worker has a device of its own, so the ledger knows how many
/// workers there is room for. May be asked by any thread.
class MemoryLedger {
 public:
  void took(const void* device, const void* address, std::size_t bytes);
  void gave_back(const void* address);

  /// How many devices fit at most into what all of them have and `free` more bytes, if each needs as much as the one that
  /// needs most: `device` what it has and `wanted` more, the others what they have.
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
