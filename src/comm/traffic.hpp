#pragma once

#include <atomic>
#include <cstdint>

namespace paragrad::comm {

/// What a worker sent and received. Bytes are payload: what the network adds to a message does not count. A transfer with a
/// window counts for the worker that starts it: put and accumulate as sent, get as received. Locks and counters of windows
/// carry no payload and do not count. What a worker's service sends and receives is not the worker's.
struct Traffic {
  std::uint64_t messages = 0;  ///< sent
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t library_calls = 0;  ///< collectives of MPI or of the device's vendor, whose messages cannot be counted

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages, sent_bytes += other.sent_bytes;
    received_bytes += other.received_bytes, library_calls += other.library_calls;
    return *this;
  }
  Traffic& operator-=(const Traffic& other) {
    messages -= other.messages, sent_bytes -= other.sent_bytes;
    received_bytes -= other.received_bytes, library_calls -= other.library_calls;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

/// A worker's traffic since its last report, and since the beginning.
struct TrafficReport {
  Traffic recent, total;
};

/// Counts the traffic of a worker; all its threads use it.
class TrafficMeter {
 public:
  void sent(std::uint64_t bytes, std::uint64_t messages = 1) {
    messages_.fetch_add(messages, std::memory_order_relaxed);
    sent_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void received(std::uint64_t bytes) { received_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void called_library() { library_calls_.fetch_add(1, std::memory_order_relaxed); }

  Traffic reading() const { return {messages_, sent_bytes_, received_bytes_, library_calls_}; }

 private:
  std::atomic<std::uint64_t> messages_ = 0, sent_bytes_ = 0, received_bytes_ = 0, library_calls_ = 0;
};

}  // namespace paragrad::comm
