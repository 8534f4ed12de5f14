#include "core/sample.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace paragrad;

TEST_CASE("mean, deviation and interval of a sample", "[core]") {
  const std::vector<double> three{1, 2, 6};
  CHECK(core::mean_of(three) == 3);
  CHECK(core::deviation_of(three) == Approx(std::sqrt(7.0)));
  CHECK(core::half_width_95(three) == Approx(6.572).epsilon(1e-3));  // t = 4.303
  const std::vector<double> many(1000, 5);
  CHECK(core::half_width_95(many) == 0);
  for (const std::vector<double>& sample : {std::vector<double>{}, {7.0}, {1.0, NAN}}) {
    CHECK(std::isnan(core::deviation_of(sample)));
    CHECK(std::isnan(core::half_width_95(sample)));
  }
  CHECK(core::mean_of(std::vector<double>{7}) == 7);
  CHECK(std::isnan(core::mean_of(std::vector<double>{})));
}
