#include "search/space.hpp"

#include <cmath>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/numbers.hpp"

using namespace paragrad;
using search::Range, search::Space, search::Values;

TEST_CASE("a grid has every combination once", "[search]") {
  Space space;
  space.add("a", {"1", "2"});
  space.add("fixed", {"x"});
  space.add("b", {"p", "q", "r"});
  const auto all = space.configurations(7, 1);  // draws are of ranges, and there are none
  REQUIRE(all.size() == 6);
  CHECK(std::set<Values>(all.begin(), all.end()).size() == 6);
  CHECK(all[0] == Values{{"a", "1"}, {"fixed", "x"}, {"b", "p"}});
  CHECK(all[1].at("b") == "q");
  CHECK(all[3] == Values{{"a", "2"}, {"fixed", "x"}, {"b", "p"}});
  CHECK(space.varied() == std::vector<std::string>{"a", "b"});
  CHECK_THROWS_AS(space.add("a", {"3"}), core::ConfigError);
  CHECK_THROWS_AS(space.add("c", {}), core::ConfigError);
}

TEST_CASE("draws are the same for every combination, repeat with the seed and cover the range", "[search]") {
  Space space;
  space.add("strategy", {"bmuf", "diloco"});
  space.add("rate", {"0.001..1 log"});
  space.add("momentum", {"0..0.5"});
  space.add("minibatch", {"3..5"});
  const std::size_t draws = 400;
  const auto all = space.configurations(draws, 3);
  REQUIRE(all.size() == 2 * draws);
  CHECK(all == space.configurations(draws, 3));
  CHECK(all != space.configurations(draws, 4));
  std::size_t small = 0, low = 0, both = 0;
  std::map<std::string, int> minibatches;
  for (std::size_t i = 0; i < draws; ++i) {
    Values other = all[draws + i];
    other["strategy"] = "bmuf";
    REQUIRE(all[i] == other);
    const double rate = *core::number_of<double>(all[i].at("rate")),
                 momentum = *core::number_of<double>(all[i].at("momentum"));
    REQUIRE(rate >= 0.001);
    REQUIRE(rate <= 1);
    REQUIRE(momentum >= 0);
    REQUIRE(momentum <= 0.5);
    small += rate < std::sqrt(0.001);  // the middle of the logarithms
    low += momentum < 0.25;
    both += rate < std::sqrt(0.001) && momentum < 0.25;
    ++minibatches[all[i].at("minibatch")];
  }
  CHECK(std::abs(static_cast<double>(small) - 200) < 50);  // five standard deviations
  CHECK(std::abs(static_cast<double>(low) - 200) < 50);
  CHECK(std::abs(static_cast<double>(both) - 100) < 45);  // ranges are drawn independently
  CHECK(minibatches.size() == 3);
  for (const auto& [value, count] : minibatches) CHECK(std::abs(count - 133) < 50);
  const auto more = space.configurations(draws + 1, 3);  // adds one for each combination, and changes none
  CHECK(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(draws), more.begin()));
}

TEST_CASE("a draw stays within a range that is narrower than its digits", "[search]") {
  for (const char* text : {"0.99990..0.99999", "0.99990..0.99999 log", "1.000001..1.000002"}) {
    const Range range = *Range::parse("x", text);
    for (const double u : {0., 0.3, 0.5, 0.999999}) {
      const double value = *core::number_of<double>(range.at(u));
      CHECK(value >= range.from);
      CHECK(value <= range.to);
    }
  }
  CHECK(Range::parse("x", "0.1..0.9")->at(0.5) == "0.5");
}

TEST_CASE("only texts of the form of a range are ranges", "[search]") {
  CHECK(Range::parse("x", "0.1..1"));
  CHECK(Range::parse("x", "1e-4..1e-1 log")->logarithmic);
  CHECK(Range::parse("x", "2..8 log")->whole);
  CHECK(!Range::parse("x", "2..8.0")->whole);
  for (const char* text : {"0.1", "../data.h5", "a..b", "1..", "1..2 lin", "runs/1..2"}) CHECK(!Range::parse("x", text));
  for (const char* text : {"1..1", "2..1", "0..1 log", "-1..1 log", "1..inf"})
    CHECK_THROWS_AS(Range::parse("x", text), core::ConfigError);
  const Range whole = *Range::parse("x", "1..4 log");
  CHECK(whole.at(0) == "1");
  CHECK(whole.at(std::nextafter(1, 0)) == "4");
}
