#include "core/encoding.hpp"

#include <cstring>

namespace paragrad::core {

// Same result as Encoding::decode, in branch-free loops.
void decode(const Encoding& encoding, const std::byte* stored, std::span<float> numbers) {
  const float scale = encoding.scale, offset = encoding.offset;
  const std::size_t count = numbers.size();
  float* const out = numbers.data();
  if (encoding.type == NumberType::uint8) {
    const auto* in = reinterpret_cast<const std::uint8_t*>(stored);
    for (std::size_t i = 0; i < count; ++i) out[i] = scale * static_cast<float>(in[i]) + offset;
    return;
  }
  if (count > 0) std::memcpy(out, stored, count * sizeof(float));
  if (scale == 1 && offset == 0) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = scale * out[i] + offset;
}

}  // namespace paragrad::core
