#include "core/share_of.hpp"

#include "catch.hpp"

using paragrad::core::share_of;

TEST_CASE("a share of hundredths of any multiple of a hundred is exact", "[core]") {
  for (std::size_t hundredths = 0; hundredths <= 100; ++hundredths)
    for (const std::size_t count : {0u, 100u, 300u, 700u, 12300u, 99999900u})
      CHECK(share_of(static_cast<double>(hundredths) / 100, count) == hundredths * (count / 100));
}

TEST_CASE("a share that is no whole number is rounded up, however small it is", "[core]") {
  CHECK(share_of(1e-300, 1) == 1);
  CHECK(share_of(0.07, 101) == 8);
  CHECK(share_of(0.5, 7) == 4);
  CHECK(share_of(0.010000001, 1000000) == 10001);
  CHECK(share_of(1, 12345) == 12345);
}
