#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "strategies/parameter_server/messages.hpp"

namespace paragrad::strategies {

/// What a server lets others know of itself.
struct WindowState {
  std::uint64_t version = 0;  ///< of the parameters
  std::uint64_t done = 0;     ///< events so far
};

/// What lies where in the window of a server, and which counter is what.
///
///   floats    [state][parameters], then for each worker [request][gradient]; what stands before an array has a line of 64
///             bytes for itself
///   counters  of a server: next ticket; one per worker, into which the holder of ticket t writes who he is (the t mod N-th)
///             of a worker: one per server, how many of its requests have been taken in
class WindowLayout {
 public:
  WindowLayout(std::size_t parameters, int workers) : parameters_(parameters), workers_(static_cast<std::size_t>(workers)) {}

  std::size_t floats() const { return (1 + workers_) * stride(); }
  static std::size_t counters(std::size_t workers, std::size_t servers) { return 1 + workers + servers; }

  std::size_t state_at() const { return 0; }
  std::size_t parameters_at() const { return line; }
  std::size_t request_at(int worker) const { return (1 + static_cast<std::size_t>(worker)) * stride(); }
  std::size_t gradient_at(int worker) const { return request_at(worker) + line; }

  static constexpr std::size_t tickets = 0;
  std::size_t holder_of(std::uint64_t ticket) const { return 1 + ticket % workers_; }
  std::size_t taken_in_by(std::size_t server) const { return 1 + workers_ + server; }

 private:
  static constexpr std::size_t line = 16;
  std::size_t stride() const { return line + (parameters_ + line - 1) / line * line; }

  std::size_t parameters_;
  std::size_t workers_;
};

/// Anything small as the floats whose bytes it shares.
template <class T>
struct AsFloats {
  static_assert(sizeof(T) % sizeof(float) == 0 && sizeof(T) <= 64);
  float floats[sizeof(T) / sizeof(float)];

  AsFloats() = default;
  explicit AsFloats(const T& value) { std::memcpy(floats, &value, sizeof(T)); }
  T value() const {
    T result;
    std::memcpy(&result, floats, sizeof(T));
    return result;
  }
};

}  // namespace paragrad::strategies
