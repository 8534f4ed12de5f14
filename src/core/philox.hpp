#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace paragrad::core {

inline constexpr int philox_rounds = 10;
inline constexpr std::array<std::uint32_t, 2> philox_multipliers{0xD2511F53, 0xCD9E8D57};

constexpr std::array<std::uint32_t, 2> next_philox_key(std::array<std::uint32_t, 2> key) {
  return {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
}

/// Philox4x32-10: a counter-based generator (Salmon et al., SC'11). The same (key, counter) always gives the same four
/// words, so a random number depends only on its purpose and index, never on the order of calls or the thread.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < philox_rounds; ++round) {
    const std::uint64_t a = std::uint64_t{philox_multipliers[0]} * counter[0];
    const std::uint64_t b = std::uint64_t{philox_multipliers[1]} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = next_philox_key(key);
  }
  return counter;
}

/// The purpose of a random number. Part of the counter: two purposes never share numbers.
enum class Purpose : std::uint32_t {
  initial_weights,
  partition,
  block_order,
  validation_split,
  generator,
  platform_noise,
  compression,
  hidden_states,
  visible_states,
  hidden_chains,
  visible_chains,
  activations_below,
  generated_speech,
  dropout,
  augmentation,
  shuffle,
  search,
  failures,
  windows,
  written_text,
  groups,
  masks,
  foreign_model,
  division
};

/// Random numbers for one (seed, purpose, step), addressed by index.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t step = 0)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        purpose_(static_cast<std::uint32_t>(purpose)),
        step_(step) {}

  constexpr std::array<std::uint32_t, 4> words(std::uint64_t index) const { return philox4x32(counter(index), key_); }

  // The generator's input for words(), for callers that compute many at once.
  constexpr std::array<std::uint32_t, 4> counter(std::uint64_t index) const {
    return {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), purpose_, step_};
  }
  std::array<std::uint32_t, 2> key() const { return key_; }

  /// Uniform in [0, 1), 53 bits.
  double uniform(std::uint64_t index) const {
    const auto w = words(index);
    return static_cast<double>((std::uint64_t{w[0]} << 21) ^ (w[1] >> 11)) * 0x1p-53;
  }

  /// Standard normal (Box and Muller).
  double normal(std::uint64_t index) const {
    const auto w = words(index);
    const double u = (static_cast<double>((std::uint64_t{w[0]} << 21) ^ (w[1] >> 11)) + 1.0) * 0x1p-53;  // (0, 1]
    const double v = static_cast<double>((std::uint64_t{w[2]} << 21) ^ (w[3] >> 11)) * 0x1p-53;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  }

  /// An approximately normal number of mean 0 and variance 1: the sum of eight 16-bit uniform numbers. Uses no logarithm or
  /// cosine, whose last bit differs between mathematical libraries.
  float near_normal(std::uint64_t index) const {
    constexpr float mean = 8 * 32767.5f;
    constexpr float deviation = 53509.918f;  // sqrt(8 (2^32 - 1) / 12)
    std::uint32_t sum = 0;
    for (const auto word : words(index)) sum += (word & 0xffff) + (word >> 16);
    return (static_cast<float>(static_cast<std::int32_t>(sum)) - mean) / deviation;
  }

  /// An integer in [0, bound), by multiplication; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound, std::uint64_t index) const {
    const auto w = words(index);
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>((std::uint64_t{w[0]} << 32) | w[1]) * bound) >> 64);
  }

  /// 0 … count-1 in random order (Fisher and Yates).
  std::vector<std::uint32_t> permutation(std::uint32_t count) const {
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    shuffle(order);
    return order;
  }

  /// Shuffles `items` in place in the same way, with the random numbers of the indices first + 2 … first + items.size().
  void shuffle(std::span<std::uint32_t> items, std::uint64_t first = 0) const {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i, first + i)]);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t purpose_;
  std::uint32_t step_;
};

}  // namespace paragrad::core
