#pragma once

#include <atomic>
#include <cstdint>

namespace paragrad::comm {

/// What a worker sent. Payload only: what the network adds to a message does not count. A transfer between windows counts as
/// one message of the worker that starts it; locks and counters carry no payload and do not count.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t library_calls = 0;  ///< collectives of MPI or of the device's vendor, whose messages cannot be counted

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages, bytes += other.bytes, library_calls += other.library_calls;
    return *this;
  }
  Traffic& operator-=(const Traffic& other) {
    messages -= other.messages, bytes -= other.bytes, library_calls -= other.library_calls;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

/// Counts the traffic of a worker; all its threads use it.
class TrafficMeter {
 public:
  void count(std::uint64_t messages, std::uint64_t bytes) {
    messages_.fetch_add(messages, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void count_library_call() { library_calls_.fetch_add(1, std::memory_order_relaxed); }

  Traffic reading() const { return {messages_, bytes_, library_calls_}; }

 private:
  std::atomic<std::uint64_t> messages_ = 0, bytes_ = 0, library_calls_ = 0;
};

}  // namespace paragrad::comm
