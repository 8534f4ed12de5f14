#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/random_numbers.hpp"
#include "core/philox.hpp"

namespace paragrad::backend::reference {

/// y[i][unit] = f(word, x[i][unit]), where word is the random word of row rows[i] and this unit.
template <class F>
void with_random_words(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                       const float* x, float* y, const F& f) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t unit = 0; unit < units; ++unit) {
      const CounterSlot place = CounterSlot::of(unit);
      const std::uint32_t word = random.words(CounterSlot::index(rows[i], place.counter))[place.word];
      y[i * units + unit] = f(word, x[i * units + unit]);
    }
}

inline void sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                             const float* p, float* y) {
  with_random_words(random, rows, units, p, y,
                    [](std::uint32_t word, float chance) { return uniform<float>(word) < chance ? 1.f : 0.f; });
}

inline void sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                          const float* mean, float* y) {
  with_random_words(random, rows, units, mean, y,
                    [](std::uint32_t word, float centre) { return centre + normal<float>(word); });
}

}  // namespace paragrad::backend::reference
