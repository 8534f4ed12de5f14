#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace paragrad::comm {

/// Says to all threads of a channel that its worker ends early. The first reason stays.
class Abandonment {
 public:
  void declare(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (declared_) return;
    reason_ = reason;
    declared_ = true;
  }
  bool declared() const { return declared_; }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_.empty() ? "" : ": " + reason_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> declared_ = false;
  std::string reason_;
};

}  // namespace paragrad::comm
