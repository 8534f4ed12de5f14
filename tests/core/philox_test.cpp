#include "core/philox.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catch.hpp"

using namespace paragrad::core;

TEST_CASE("philox4x32-10 gives the published vectors", "[core]") {
  // Random123 1.14, tests/kat_vectors
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random streams of different purpose, step or seed are unrelated", "[core]") {
  const RandomStream base(1, Purpose::partition, 0);
  for (const RandomStream& other : {RandomStream(2, Purpose::partition, 0), RandomStream(1, Purpose::block_order, 0),
                                    RandomStream(1, Purpose::partition, 1)}) {
    double product = 0;
    for (int i = 0; i < 10000; ++i) product += (base.uniform(i) - .5) * (other.uniform(i) - .5);
    CHECK(std::abs(product / 10000) < 4.0 / 12 / 100);  // 4 standard errors of a zero correlation
  }
}

TEST_CASE("normal numbers have mean 0 and variance 1", "[core]") {
  const RandomStream stream(7, Purpose::generator);
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) sum += stream.normal(i), squares += stream.normal(i) * stream.normal(i);
  CHECK(std::abs(sum / n) < 0.015);
  CHECK(squares / n == Approx(1).margin(0.02));
}

TEST_CASE("a permutation holds every number once and puts each anywhere", "[core]") {
  std::vector<int> first(5, 0);
  for (std::uint32_t step = 0; step < 5000; ++step) {
    auto order = RandomStream(3, Purpose::block_order, step).permutation(5);
    ++first[order[0]];
    std::sort(order.begin(), order.end());
    REQUIRE(order == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  }
  for (int count : first) CHECK(count == Approx(1000).margin(120));  // 4 standard deviations
}
