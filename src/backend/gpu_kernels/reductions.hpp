#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/gpu_kernels/grid.hpp"

/// Reductions over the threads of a block. All threads must take part, as in Block::each.
namespace paragrad::backend::gpu_kernels {

struct Sum {
  template <class T>
  PARAGRAD_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Largest {
  template <class T>
  PARAGRAD_HOST_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct Smallest {
  template <class T>
  PARAGRAD_HOST_DEVICE T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

/// The combination of term(i) for all i below count, for all threads; `neutral` is the neutral element. The order depends
/// only on `count` and the number of threads. `values` has one element per thread.
template <class T, class Term, class Combine>
PARAGRAD_HOST_DEVICE T reduce(const Block& block, std::size_t count, T neutral, T* values, const Term& term,
                              const Combine& two) {
  block.each([&](std::uint32_t thread) {
    T p = neutral, q = neutral, r = neutral, s = neutral;  // independent, so that four terms are loaded at a time
    const std::size_t step = block.threads;
    in_groups<4>(
        thread, count, step,
        [&](std::size_t i) {
          p = two(p, term(i));
          q = two(q, term(i + step));
          r = two(r, term(i + 2 * step));
          s = two(s, term(i + 3 * step));
        },
        [&](std::size_t i) { p = two(p, term(i)); });
    values[thread] = two(two(p, q), two(r, s));
  });
  block.combine(values, two);
  const T result = values[0];
  block.each([](std::uint32_t) {});  // no thread may write there until all have read it
  return result;
}

/// Range number `part` of the `parts` ranges of equal length that cover the numbers below count.
struct Stretch {
  std::size_t begin, end;

  PARAGRAD_HOST_DEVICE static Stretch of(std::size_t count, std::size_t part, std::size_t parts) {
    const std::size_t length = (count + parts - 1) / parts, begin = std::min(part * length, count);
    return {begin, std::min(begin + length, count)};
  }
};

/// Exclusive prefix sum over one value per thread; T{} is zero. Returns the total (G. E. Blelloch, "Prefix sums and their
/// applications", CMU-CS-90-190, 1990).
template <class T>
PARAGRAD_HOST_DEVICE T scan(const Block& block, T* values) {
  const std::uint32_t last = block.threads - 1;
  for (std::uint32_t half = 1; half < block.threads; half *= 2)
    block.each([&](std::uint32_t thread) {
      if ((thread + 1) % (2 * half) == 0) values[thread] = values[thread - half] + values[thread];
    });
  const T all = values[last];
  block.each([](std::uint32_t) {});  // wait until all have read it
  block.each([&](std::uint32_t thread) {
    if (thread == last) values[last] = T{};
  });
  for (std::uint32_t half = block.threads / 2; half > 0; half /= 2)
    block.each([&](std::uint32_t thread) {
      if ((thread + 1) % (2 * half) != 0) return;
      const T left = values[thread - half];
      values[thread - half] = values[thread];
      values[thread] = values[thread] + left;
    });
  return all;
}

/// The same for an array of any length, by one block. `sums` has one element per thread.
template <class T>
PARAGRAD_HOST_DEVICE void scan_array(const Block& block, std::size_t count, T* values, T* sums) {
  block.each([&](std::uint32_t thread) {
    const Stretch mine = Stretch::of(count, thread, block.threads);
    T sum{};
    for (std::size_t i = mine.begin; i < mine.end; ++i) sum = sum + values[i];
    sums[thread] = sum;
  });
  scan(block, sums);
  block.each([&](std::uint32_t thread) {
    const Stretch mine = Stretch::of(count, thread, block.threads);
    T before = sums[thread];
    for (std::size_t i = mine.begin; i < mine.end; ++i) {
      const T value = values[i];
      values[i] = before;
      before = before + value;
    }
  });
}

}  // namespace paragrad::backend::gpu_kernels
