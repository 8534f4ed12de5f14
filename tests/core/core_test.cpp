// Arenas, ranges, names of errors.
#include <cstdint>

#include "catch.hpp"
#include "core/arena.hpp"
#include "core/errors.hpp"
#include "core/range.hpp"

using namespace paragrad::core;

TEST_CASE("an arena is aligned to a cache line, zero, and as long as asked", "[core]") {
  const std::size_t count = GENERATE(0u, 1u, 15u, 16u, 17u, 100'003u);
  for (int again = 0; again < 3; ++again) {  // memory that was used before is zero too
    Arena arena = host_arena(count);
    REQUIRE(arena.size() == count);
    REQUIRE(arena.span().size() == count);
    CHECK(reinterpret_cast<std::uintptr_t>(arena.span().data()) % 64 == 0);
    bool zero = true;
    for (float& x : arena.span()) zero = zero && x == 0, x = 1;
    CHECK(zero);
  }
}

TEST_CASE("an arena larger than any memory is refused, not made small", "[core]") {
  const std::size_t count = GENERATE(std::size_t{1} << 62, ~std::size_t{0}, (~std::size_t{0} >> 2) + 2);
  CHECK_THROWS_WITH(host_arena(count),
                    contains_text("an array of " + std::to_string(count) + " numbers needs") && contains_text("of memory"));
}

TEST_CASE("a moved arena leaves its memory to the new owner", "[core]") {
  Arena first = host_arena(10);
  const float* data = first.span().data();
  const Arena second = std::move(first);
  CHECK(second.span().data() == data);
}

TEST_CASE("parts cover a length exactly once, in order, with sizes that differ by at most one", "[core]") {
  const std::size_t parts = GENERATE(1u, 2u, 3u, 7u, 64u, 1000u);
  const std::size_t length = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{999}, std::size_t{1000},
                                      std::size_t{63'000'001}, ~std::size_t{0});
  std::size_t end = 0, smallest = ~std::size_t{0}, largest = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const Range part = part_of(length, parts, i);
    REQUIRE(part.begin == end);
    REQUIRE(part.end >= part.begin);
    end = part.end;
    smallest = std::min(smallest, part.size());
    largest = std::max(largest, part.size());
  }
  CHECK(end == length);
  CHECK(largest - smallest <= 1);
}

TEST_CASE("a range cuts its elements out of a span", "[core]") {
  const std::vector<int> numbers{0, 1, 2, 3, 4};
  const auto cut = Range{1, 3}.of(std::span(numbers));
  CHECK(std::vector<int>(cut.begin(), cut.end()) == std::vector<int>{1, 2});
  CHECK(Range{2, 2}.empty());
}

TEST_CASE("an unknown name is told with the known ones", "[core]") {
  CHECK(std::string(unknown_name("strategy", "bmfu", {"sgd", "bmuf"}).what()) ==
        "unknown strategy 'bmfu'; did you mean bmuf? (known: sgd, bmuf)");
  CHECK(std::string(unknown_name("strategy", "easgd", {"bmuf", "slowmo"}).what()) ==
        "unknown strategy 'easgd'; known: bmuf, slowmo");
}
