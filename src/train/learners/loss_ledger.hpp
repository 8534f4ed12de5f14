#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "backend/device_array.hpp"
#include "backend/loss_sum.hpp"

namespace paragrad::train {

/// Losses of minibatches, kept in device memory until the host reads them all at once, so that it need not wait for each.
class LossLedger {
 public:
  explicit LossLedger(backend::Device& device) : device_(device), losses_(device, capacity) {}

  /// Where to accumulate the next minibatch's loss: device memory, initially zero.
  backend::LossSum* next_slot() { return losses_.data() + entries_.size(); }

  /// Records that the slot holds, or will hold, a loss. scored: rows with a loss. minibatch: its number.
  void enter(std::size_t scored, std::size_t minibatch) { entries_.push_back({scored, minibatch}); }
  bool full() const { return entries_.size() == capacity; }

  /// Waits for the losses, calls use(loss, scored, minibatch) for each in order, and empties the ledger.
  template <class Use>
  void settle(const Use& use) {
    const std::vector<Entry> entries = std::exchange(entries_, {});
    std::vector<backend::LossSum> found(entries.size());
    const std::span<backend::LossSum> places = losses_.span().first(entries.size());
    device_.transfer(std::span<const backend::LossSum>(places), std::span(found));
    device_.transfer(std::span<const backend::LossSum>(std::vector<backend::LossSum>(entries.size())), places);
    for (std::size_t i = 0; i < entries.size(); ++i) use(found[i], entries[i].scored, entries[i].minibatch);
  }

 private:
  static constexpr std::size_t capacity = 256;
  struct Entry {
    std::size_t scored = 0;
    std::size_t minibatch = 0;
  };

  backend::Device& device_;
  backend::DeviceArray<backend::LossSum> losses_;
  std::vector<Entry> entries_;
};

}  // namespace paragrad::train
