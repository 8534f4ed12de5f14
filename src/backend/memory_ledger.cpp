#include "backend/memory_ledger.hpp"

#include <algorithm>
#include <iterator>

namespace paragrad::backend {

void MemoryLedger::took(const void* device, const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pieces_[address] = {device, bytes};
  of_device_[device] += bytes;
}

void MemoryLedger::gave_back(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(address);
  if (piece == pieces_.end()) return;
  const auto device = of_device_.find(piece->second.device);
  device->second -= piece->second.bytes;
  if (device->second == 0) of_device_.erase(device);
  pieces_.erase(piece);
}

bool MemoryLedger::holds(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return false;
  const auto& [begin, piece] = *std::prev(after);
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(begin)) <
         piece.bytes;
}

std::size_t MemoryLedger::room(const void* device, std::size_t wanted, std::size_t free) const {
  const std::lock_guard lock(mutex_);
  const auto own = of_device_.find(device);
  std::size_t most = wanted + (own == of_device_.end() ? 0 : own->second), all = free;
  for (const auto& [other, bytes] : of_device_) {
    most = std::max(most, bytes);
    all += bytes;
  }
  return most == 0 ? 0 : all / most;
}

}  // namespace paragrad::backend
