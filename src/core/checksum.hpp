#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace paragrad::core {

/// Incremental XXH3, 64 bits: finds out whether bytes are still those that were written, about as fast as memory can be
/// read. Against accidents, not against forgery; what names content is a SHA-256.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);

  /// Of all bytes so far, which others may follow.
  std::uint64_t value() const;

  /// The value in 16 hexadecimal digits.
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace paragrad::core
