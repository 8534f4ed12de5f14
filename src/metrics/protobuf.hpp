#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace paragrad::metrics {

/// The lowest byte first, on whatever machine.
template <class Unsigned>
void append_little_endian(std::string& to, Unsigned value) {
  static_assert(std::is_unsigned_v<Unsigned>);
  for (std::size_t i = 0; i < sizeof value; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
}

/// A message of protocol buffers, in their wire format (protobuf.dev/programming-guides/encoding): field after field, each
/// with its number and the kind of its value. What the numbers mean is the reader's and the writer's to know.
class ProtobufMessage {
 public:
  /// Of the types int32, int64, bool and enum.
  ProtobufMessage& integer(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }

  ProtobufMessage& float64(int field, double value) {
    key(field, 1);
    append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }

  ProtobufMessage& float32(int field, float value) {
    key(field, 5);
    append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }

  /// Of the type string, in UTF-8, or bytes.
  ProtobufMessage& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }

  ProtobufMessage& message(int field, const ProtobufMessage& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, std::uint64_t kind) { varint(static_cast<std::uint64_t>(field) << 3 | kind); }

  /// Seven bits to a byte, the lowest first; the eighth says that more follow.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace paragrad::metrics
