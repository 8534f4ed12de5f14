#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace paragrad::core {

/// Incremental XXH3, 64 bits: detects accidental corruption of written bytes at about memory bandwidth. Not secure against
/// forgery; content is identified by SHA-256 instead.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);

  /// Checksum of all bytes so far; more may follow.
  std::uint64_t value() const;

  /// The value in 16 hexadecimal digits.
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace paragrad::core
