#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace paragrad::comm {

/// Tells all threads of a channel that its worker ends early. The first reason is kept.
class Cancellation {
 public:
  void request(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (requested_) return;
    reason_ = reason;
    requested_ = true;
  }
  bool requested() const { return requested_; }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_.empty() ? "" : ": " + reason_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> requested_ = false;
  std::string reason_;
};

}  // namespace paragrad::comm
