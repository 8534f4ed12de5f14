#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/kernel.hpp"
#include "backend/random_numbers.hpp"
#include "core/philox.hpp"

namespace paragrad::backend {

inline constexpr std::uint64_t philox_operations = 20;  ///< for each of the four words: 10 rounds of 8 operations

/// A random word for each unit of each row, which follows from the stream, the row's number and the unit's alone.
struct RandomRows {
  core::RandomStream random;
  std::span<const std::uint32_t> rows;  ///< numbers of the rows, device memory
  std::size_t units;
  std::size_t first_unit = 0;

  PARAGRAD_HOST_DEVICE std::uint32_t word(std::size_t i) const {
    const CounterSlot place = CounterSlot::of(first_unit + i % units);
    return random.words(CounterSlot::index(rows[i / units], place.counter))[place.word];
  }

  std::size_t size() const { return rows.size() * units; }

  /// About `count` numbers in rows of about 512 units; which rows makes no difference to the time.
  static RandomRows example(ExampleMemory& memory, std::size_t count) {
    const std::size_t batch = std::max<std::size_t>(1, (count + 256) / 512);
    return {{1, core::Purpose::generator}, memory.rows(batch), count / batch};
  }
};

/// y[rows][units] = 1 with probability p[rows][units], else 0: [uniform < p]. A uniform number depends on the stream, on
/// rows[i] and on the unit alone (backend/random_numbers.hpp), so given p all devices give the same bits. p = NaN gives 0.
template <class Real>
struct SampleBernoulliOf {
  static constexpr KernelId id = KernelId::sample_bernoulli;

  core::RandomStream random;
  std::span<const std::uint32_t> rows;
  std::size_t units;
  std::span<const Real> p;
  std::span<Real> y;

  void check() const {
    expect_size(id, "p", p.size(), rows.size() * units);
    expect_size(id, "y", y.size(), rows.size() * units);
  }
  KernelCost cost() const { return streaming_cost(y.size(), philox_operations, 2); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    y[i] = uniform<float>(RandomRows{random, rows, units}.word(i)) < p[i] ? Real(1) : Real(0);
  }

  static Example<SampleBernoulliOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, drawn = RandomRows::example(memory, count)] {
      return SampleBernoulliOf{drawn.random, drawn.rows, drawn.units, memory.activations(0, drawn.size()),
                               memory.activations(1, drawn.size())};
    };
  }
};
using SampleBernoulli = SampleBernoulliOf<float>;

/// y[rows][units] = mean[rows][units] + a standard normal number, keyed in the same way.
template <class Real>
struct SampleNormalOf {
  static constexpr KernelId id = KernelId::sample_normal;

  core::RandomStream random;
  std::span<const std::uint32_t> rows;
  std::size_t units;
  std::span<const Real> mean;
  std::span<Real> y;

  void check() const {
    expect_size(id, "mean", mean.size(), rows.size() * units);
    expect_size(id, "y", y.size(), rows.size() * units);
  }
  /// A logarithm and two polynomials.
  KernelCost cost() const { return streaming_cost(y.size(), philox_operations + 45, 2); }
  std::size_t elements() const { return y.size(); }
  PARAGRAD_HOST_DEVICE void element(std::size_t i) const {
    y[i] = mean[i] + static_cast<Real>(normal<float>(RandomRows{random, rows, units}.word(i)));
  }
  static Example<SampleNormalOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, drawn = RandomRows::example(memory, count)] {
      return SampleNormalOf{drawn.random, drawn.rows, drawn.units, memory.activations(0, drawn.size()),
                            memory.activations(1, drawn.size())};
    };
  }
};
using SampleNormal = SampleNormalOf<float>;

}  // namespace paragrad::backend
