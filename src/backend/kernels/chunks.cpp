#include "backend/kernels/chunks.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "backend/code_formulas.hpp"
#include "backend/kernels/quantise.hpp"

namespace paragrad::backend {
namespace {

/// The places of the largest elements within a chunk, in ascending order.
std::vector<std::uint32_t> largest_of(std::span<const float> u, std::size_t kept) {
  std::vector<std::uint32_t> places(u.size());
  std::iota(places.begin(), places.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t size_a = size_bits(u[a]), size_b = size_bits(u[b]);
    return size_a != size_b ? size_a > size_b : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept) - 1, places.end(), before);
  places.resize(kept);
  std::sort(places.begin(), places.end());
  return places;
}

template <class Action>
void over_chunks(std::size_t count, const ChunkFormat& format, const Action& action) {
  for (std::size_t begin = 0; begin < count; begin += format.chunk) action(begin, std::min(format.chunk, count - begin));
}

}  // namespace

void EncodeChunks::reference() const {
  std::vector<float> u(x.begin(), x.end()), values;
  for (std::size_t i = 0; i < residual.size(); ++i) u[i] = x[i] + residual[i];
  std::vector<std::size_t> places;
  std::vector<std::uint32_t> words((format.packed_bytes(x.size()) - format.value_bytes(x.size())) / 4);
  over_chunks(u.size(), format, [&](std::size_t begin, std::size_t length) {
    for (const std::uint32_t place : largest_of(std::span(u).subspan(begin, length), format.kept_of(length))) {
      const std::size_t bit = places.size() * format.place_bits();
      const std::uint64_t shifted = std::uint64_t{place} << (bit % 32);
      words[bit / 32] |= static_cast<std::uint32_t>(shifted);
      if (shifted >> 32 != 0) words[bit / 32 + 1] |= static_cast<std::uint32_t>(shifted >> 32);
      places.push_back(begin + place);
      values.push_back(u[begin + place]);
    }
  });
  std::vector<float> errors(values.size());
  const std::size_t value_bytes = format.value_bytes(x.size());
  if (format.coded)
    Quantise{{format.code}, values.size(), 1, values, errors, packed.first(value_bytes)}.reference();
  else if (!values.empty())
    std::memcpy(packed.data(), values.data(), value_bytes);
  if (!words.empty()) std::memcpy(packed.data() + value_bytes, words.data(), 4 * words.size());
  for (std::size_t i = 0; i < places.size(); ++i) u[places[i]] = errors[i];
  if (!residual.empty()) std::ranges::copy(u, residual.begin());
}

void DecodeChunks::reference() const {
  if (keep == 0) std::ranges::fill(x, 0.f);
  const std::size_t value_bytes = format.value_bytes(x.size()), bits = format.place_bits();
  std::vector<float> values(format.kept(x.size()));
  if (format.coded)
    Dequantise{{format.code}, values.size(), 1, packed.first(value_bytes), 0, values}.reference();
  else if (!values.empty())
    std::memcpy(values.data(), packed.data(), value_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t word = 0;
    const std::size_t from = value_bytes + i * bits / 32 * 4;
    std::memcpy(&word, packed.data() + from, std::min<std::size_t>(8, packed.size() - from));
    const std::size_t place = word >> (i * bits % 32) & ((std::uint64_t{1} << bits) - 1);
    const std::size_t at = i / format.keep * format.chunk + place;
    if (place >= format.chunk || at >= x.size()) throw std::logic_error("decode_chunks: a place lies outside its chunk");
    x[at] += values[i];
  }
}

}  // namespace paragrad::backend
