#include "core/numbers.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "catch.hpp"
#include "core/philox.hpp"

using namespace paragrad;

namespace {

/// As the C library reads the whole text, in the locale "C".
double reference(const std::string& text, double) { return std::strtod(text.c_str(), nullptr); }
float reference(const std::string& text, float) { return std::strtof(text.c_str(), nullptr); }

template <class T>
void check_like_c(const std::string& text) {
  CAPTURE(text);
  const auto value = core::number_of<T>(text);
  REQUIRE(value.has_value());
  const T expected = reference(text, T{});
  CHECK(std::signbit(*value) == std::signbit(expected));
  CHECK((*value == expected || (std::isnan(*value) && std::isnan(expected))));
}

}  // namespace

TEST_CASE("numbers are read as the C library reads them, also tiny, huge and with a plus sign", "[core]") {
  const std::string zeros(400, '0');
  for (const char* const text : {"0",
                                 "-0",
                                 "1.5",
                                 "1e-46",
                                 "1e-60",
                                 "1e-400",
                                 "1e-40",
                                 "1e39",
                                 "1e400",
                                 "1e308",
                                 "1e-308",
                                 "4.9e-324",
                                 "2e-324",
                                 "1e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "0e99999999999999999999",
                                 "1e+5",
                                 "1E5",
                                 ".5",
                                 "5.",
                                 "00012",
                                 "inf",
                                 "infinity",
                                 "nan",
                                 "0.1e-398",
                                 "12345678901234567890e-420"})
    for (const char* const sign : {"", "+", "-"}) {
      if (*sign != '\0' && text[0] == '-') continue;
      check_like_c<double>(std::string(sign) + text);
      check_like_c<float>(std::string(sign) + text);
    }
  for (const std::string& text : {"1" + zeros, "1" + zeros + "e-50", "0." + zeros + "1", "0." + zeros + "1e50",
                                  "0." + zeros + "1e800", "1" + zeros + "e-800", zeros + "1.5", "-." + zeros + "7"}) {
    check_like_c<double>(text);
    check_like_c<float>(text);
  }
}

TEST_CASE("random bits survive as text in every width of digits", "[core]") {
  const core::RandomStream random(7, core::Purpose::generator);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    char text[400];
    const double value = std::ldexp(random.uniform(3 * i) - 0.5, static_cast<int>(2400 * (random.uniform(3 * i + 1) - 0.5)));
    std::snprintf(text, sizeof text, i % 2 == 0 ? "%.*e" : "%+.*f", static_cast<int>(20 * random.uniform(3 * i + 2)), value);
    check_like_c<double>(text);
    check_like_c<float>(text);
  }
}

TEST_CASE("what is no number is none, also where a part of it is", "[core]") {
  for (const char* const text : {"", "+", "-", "+-1", "-+1", "++1", "--1", "1.5x", " 1", "1 ", "1,5", "0x10", "e5", "+e5",
                                 ".", "1_000", "NaN!", "one"}) {
    CAPTURE(text);
    CHECK(!core::number_of<double>(text));
    CHECK(!core::number_of<float>(text));
    CHECK(!core::number_of<int>(text));
    CHECK(!core::number_of<std::uint64_t>(text));
  }
}

TEST_CASE("whole numbers may have a plus sign but must fit", "[core]") {
  CHECK(core::number_of<std::int32_t>("+2147483647") == 2147483647);
  CHECK(core::number_of<std::int32_t>("-2147483648") == -2147483647 - 1);
  CHECK(!core::number_of<std::int32_t>("2147483648"));
  CHECK(core::number_of<std::uint64_t>("+0") == 0u);
  CHECK(!core::number_of<std::uint64_t>("-1"));
  CHECK(!core::number_of<int>("1.5"));
}

TEST_CASE("a number at the beginning of a text leaves the rest", "[core]") {
  const auto found = core::leading_number<double>("+1e-400ms");
  REQUIRE(found.has_value());
  CHECK(found->value == 0);
  CHECK(found->rest == "ms");
}
