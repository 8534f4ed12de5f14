#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace paragrad::metrics {

/// Appends the lowest byte first, on any machine.
template <class Unsigned>
void append_little_endian(std::string& to, Unsigned value) {
  static_assert(std::is_unsigned_v<Unsigned>);
  for (std::size_t i = 0; i < sizeof value; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
}

/// A protocol buffers message in wire format (protobuf.dev/programming-guides/encoding): a sequence of fields, each with its
/// number and wire type. The meaning of the numbers is up to writer and reader.
class ProtobufMessage {
 public:
  /// For the types int32, int64, bool and enum.
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

  /// For the types string (UTF-8) and bytes.
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

  /// Seven bits per byte, lowest first; the eighth bit is set if more bytes follow.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace paragrad::metrics
