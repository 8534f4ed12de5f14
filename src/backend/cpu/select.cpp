#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

namespace {

// Sizes |u| are compared as the bits of the float, among which NaN is the largest.
constexpr std::int32_t size_mask = 0x7FFFFFFF;
constexpr std::int32_t bucket_bits = 20;  // exponent and the next three bits select the bucket
constexpr std::size_t buckets = std::size_t{1} << (31 - bucket_bits);

std::int32_t size_of(float u) { return std::bit_cast<std::int32_t>(u) & size_mask; }

/// residual = x + residual
void accumulate(std::size_t count, const float* x, float* residual) {
  transform(
      count, residual, [](Vector a, Vector b) { return a + b; }, x, residual);
}

std::vector<std::size_t> histogram(std::size_t count, const float* u) {
  // Four copies, because consecutive increments of the same counter would stall.
  std::vector<std::array<std::uint32_t, 4>> counts(buckets);
  for (std::size_t i = 0; i < count; ++i) counts[static_cast<std::size_t>(size_of(u[i]) >> bucket_bits)][i % 4] += 1;
  std::vector<std::size_t> sums(buckets);
  for (std::size_t b = 0; b < buckets; ++b)
    for (const std::uint32_t part : counts[b]) sums[b] += part;
  return sums;
}

/// Calls f(i) for all i in ascending order with least <= |u[i]| <= most.
template <class F>
void over_sizes(std::size_t count, const float* u, std::int32_t least, std::int32_t most, const F& f) {
  const Integers low = Integers{} + least, high = Integers{} + most;
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t part = std::min(lanes, count - i);
    const Vector v = part == lanes ? load(u + i) : load_part(u + i, part);
    const Integers sizes = reinterpret_cast<Integers>(v) & size_mask;
    std::uint32_t found = bits_at_least(sizes, low) & bits_at_least(high, sizes);
    if (part < lanes) found &= (1u << part) - 1;
    for (; found != 0; found &= found - 1) f(i + static_cast<std::size_t>(std::countr_zero(found)));
  }
}

/// Finds the `keep` largest elements: all above an absolute value, and the first few equal to it.
struct Limit {
  std::int32_t size;
  std::size_t equal;  // how many of them
};

Limit find_limit(std::size_t keep, std::size_t count, const float* u) {
  const std::vector<std::size_t> counts = histogram(count, u);
  std::size_t bucket = buckets - 1, above = 0;
  for (; above + counts[bucket] < keep; --bucket) above += counts[bucket];

  const std::int32_t least = static_cast<std::int32_t>(bucket) << bucket_bits;
  std::vector<std::int32_t> sizes;
  sizes.reserve(counts[bucket]);
  over_sizes(count, u, least, least | ((1 << bucket_bits) - 1), [&](std::size_t i) { sizes.push_back(size_of(u[i])); });
  const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(keep - above - 1);
  std::nth_element(sizes.begin(), last, sizes.end(), std::greater<>());
  const auto larger = std::count_if(sizes.begin(), last, [&](std::int32_t size) { return size > *last; });
  return {*last, keep - above - static_cast<std::size_t>(larger)};
}

}  // namespace

// By a histogram of the upper bits of |u|: three passes over u for any `keep`.
void run(Workspace&, const SelectLargest& kernel) {
  const std::size_t keep = kernel.keep, count = kernel.x.size();
  const float* const x = kernel.x.data();
  float* const residual = kernel.residual.empty() ? nullptr : kernel.residual.data();
  if (residual) accumulate(count, x, residual);
  if (keep == 0) return;
  const float* u = residual ? residual : x;
  Limit limit = find_limit(keep, count, u);
  std::size_t pair = 0;
  over_sizes(count, u, limit.size, size_mask, [&](std::size_t i) {
    if (size_of(u[i]) == limit.size) {
      if (limit.equal == 0) return;
      limit.equal -= 1;
    }
    write_pair(kernel.packed.data(), pair++, static_cast<std::uint32_t>(i), u[i]);
    if (residual) residual[i] = 0;
  });
}

}  // namespace paragrad::backend::cpu
