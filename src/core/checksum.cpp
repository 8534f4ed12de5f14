#include "core/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/format.hpp"

namespace paragrad::core {

struct Checksum::State {
  XXH3_state_t stream;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->stream); }

Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) { XXH3_64bits_update(&state_->stream, bytes.data(), bytes.size()); }

std::uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->stream); }

std::string Checksum::digits() const { return format("{:016x}", value()); }

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace paragrad::core
