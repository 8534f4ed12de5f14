#include <algorithm>
#include <array>
#include <bit>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"
#include "backend/random_numbers.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr Longs low_half = Longs{} + 0xFFFFFFFF;

/// Philox4x32-10 of `lanes` neighbouring counters. 64-bit lanes hold a counter each, in two sets: the even and the odd ones.
/// Their upper halves are undefined until the words are combined.
class Philox {
 public:
  explicit Philox(const core::RandomStream& random) {
    const auto origin = random.counter(0);
    for (std::size_t word = 0; word < 4; ++word) origin_[word] = Longs{} + origin[word];
    auto key = random.key();
    for (auto& [a, b] : keys_) {
      a = Longs{} + key[0];
      b = Longs{} + key[1];
      key = core::next_philox_key(key);
    }
  }

  /// word[w] lane l is word w of counter `first` + l of this row; `first` is a multiple of lanes.
  std::array<Words, 4> words(std::uint32_t row, std::uint32_t first) const {
    Longs number;
    for (std::size_t l = 0; l < lanes / 2; ++l) number[l] = 2 * l;
    const std::array<Longs, 4> even = rounds(row, number + first), odd = rounds(row, number + (first + 1));
    std::array<Words, 4> result;
    for (std::size_t w = 0; w < 4; ++w) result[w] = std::bit_cast<Words>((even[w] & low_half) | odd[w] << 32);
    return result;
  }

 private:
  std::array<Longs, 4> rounds(std::uint32_t row, Longs number) const {
    std::array<Longs, 4> c{number, Longs{} + row, origin_[2], origin_[3]};
    for (const auto& [key_a, key_b] : keys_) {
      const Longs a = multiply_low_halves(Longs{} + core::philox_multipliers[0], c[0]);
      const Longs b = multiply_low_halves(Longs{} + core::philox_multipliers[1], c[2]);
      c = {b >> 32 ^ c[1] ^ key_a, b, a >> 32 ^ c[3] ^ key_b, a};
    }
    return c;
  }

  std::array<Longs, 4> origin_;
  std::array<std::array<Longs, 2>, core::philox_rounds> keys_;
};

/// y[i][unit] = f(words, x[i][unit]), `lanes` units at a time.
template <class F>
void with_random_words(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                       const float* x, float* y, const F& f) {
  const Philox philox(random);
  for (const std::uint32_t row : rows) {
    for (std::size_t begin = 0; begin < units; begin += CounterSlot::units)
      for (std::size_t l = 0; l < CounterSlot::counters; l += lanes) {
        const auto words = philox.words(row, CounterSlot::of(begin).counter + static_cast<std::uint32_t>(l));
        for (std::size_t w = 0; w < CounterSlot::words; ++w) {
          const std::size_t unit = begin + w * CounterSlot::counters + l;
          if (unit >= units) break;
          transform(
              std::min(lanes, units - unit), y + unit, [&](Vector value) { return f(words[w], value); }, x + unit);
        }
      }
    x += units;
    y += units;
  }
}

}  // namespace

void run(Workspace&, const SampleBernoulli& kernel) {
  with_random_words(kernel.random, kernel.rows, kernel.units, kernel.p.data(), kernel.y.data(),
                    [](Words words, Vector chance) { return uniform<Vector>(words) < chance ? broadcast(1.f) : Vector{}; });
}

void run(Workspace&, const SampleNormal& kernel) {
  with_random_words(kernel.random, kernel.rows, kernel.units, kernel.mean.data(), kernel.y.data(),
                    [](Words words, Vector centre) { return centre + normal<Vector>(words); });
}

}  // namespace paragrad::backend::cpu
