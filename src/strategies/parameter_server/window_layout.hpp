#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "strategies/parameter_server/messages.hpp"

namespace paragrad::strategies {

/// A server's state that other workers can read.
struct WindowState {
  std::uint64_t version = 0;  ///< of the parameters
  std::uint64_t done = 0;     ///< events so far
};

/// Layout of a server's window and meaning of its counters.
///
///   floats    [state][parameters], then for each worker [request][gradient]; the state and each request occupy a 64-byte
///             line
///   counters  server: next ticket; N holders: the worker with ticket t writes its number into holder t mod N
///             worker: one per server, the number of its requests that the server has taken in
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

/// A small value stored bytewise in floats.
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
