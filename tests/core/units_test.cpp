#include "core/units.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"

using namespace paragrad::core;

TEST_CASE("quantities are read in SI units", "[core]") {
  CHECK(parse_quantity("22.5min", Unit::time) == 1350);
  CHECK(parse_quantity("9.3us", Unit::time) == Approx(9.3e-6).epsilon(1e-15));
  CHECK(parse_quantity("2d", Unit::time) == 172800);
  CHECK(parse_quantity("6.4GBps", Unit::bandwidth) == 6.4e9);
  CHECK(parse_quantity("100Gbps", Unit::bandwidth) == 12.5e9);  // bits
  CHECK(parse_quantity("64kB", Unit::bytes) == 64000);          // powers of 1000
  CHECK(parse_quantity("4.29TFLOPs", Unit::rate) == Approx(4.29e12).epsilon(1e-15));
  CHECK(parse_quantity("-1.5e-3ms", Unit::time) == Approx(-1.5e-6));
  CHECK(parse_quantity("+5us", Unit::time) == Approx(5e-6));
  CHECK(parse_quantity("1e-400s", Unit::time) == 0);
  CHECK(parse_quantity("0s", Unit::time) == 0);
}

TEST_CASE("what is no quantity is refused and quoted", "[core]") {
  const std::string text = GENERATE("", "5", "us", "5 us", " 5us", "5us ", "5US", "5uss", "5,3us", "0x10us", "+-5us",
                                    "nanus", "infus", "1e400us", "1e305d", "5GBps", "5b", "--5us", "5us5us", "\xff");
  REQUIRE_THROWS_AS(parse_quantity(text, Unit::time), ConfigError);
  REQUIRE_THROWS_WITH(parse_quantity(text, Unit::time), contains_text("'" + text + "'") && contains_text("us"));
}

TEST_CASE("a formatted quantity reads back to four digits", "[core]") {
  const Unit unit = GENERATE(Unit::time, Unit::bytes, Unit::bandwidth, Unit::rate);
  const RandomStream random(3, Purpose::generator, static_cast<std::uint32_t>(unit));
  for (std::uint64_t i = 0; i < 500; ++i) {
    const double value = (i % 2 == 0 ? 1 : -1) * std::pow(10, -14 + 34 * random.uniform(i));
    const std::string text = format_quantity(value, unit);
    CAPTURE(value, text);
    REQUIRE(parse_quantity(text, unit) == Approx(value).epsilon(5e-4));
    REQUIRE(format_quantity(parse_quantity(text, unit), unit) == text);
  }
}

TEST_CASE("quantities are written in the largest unit that leaves at least 1", "[core]") {
  CHECK(format_quantity(1350, Unit::time) == "22.5min");
  CHECK(format_quantity(0.25, Unit::time) == "250ms");
  CHECK(format_quantity(6.39e9, Unit::bandwidth) == "6.39GBps");
  CHECK(format_quantity(1e15, Unit::rate) == "1PFLOPs");
  CHECK(format_quantity(0, Unit::time) == "0s");
  CHECK(format_quantity(0, Unit::bytes) == "0B");
}
