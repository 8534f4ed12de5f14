#include "speech/tokens.hpp"

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

using Names = std::vector<std::string>;
using Said = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("states of a word are one token, which comes again where they fall back", "[speech]") {
  const Tokens tokens(Names{"one/0", "one/1", "one/2", "two/0", "two/1", "pau"}, 6);
  REQUIRE(tokens.count() == 3);
  CHECK((tokens.name(0) == "one" && tokens.name(1) == "two" && tokens.name(2) == "pau"));
  CHECK(tokens.in(Said{}) == Said{});
  CHECK(tokens.in(Said{0, 0, 1, 2, 2}) == Said{0});
  CHECK(tokens.in(Said{0, 2, 0, 1}) == Said{0, 0});  // states may be left out
  CHECK(tokens.in(Said{5, 5, 3, 4, 3, 0, 1, 5}) == Said{2, 1, 1, 0, 2});
}

TEST_CASE("classes without states are tokens, and of equal neighbours one is heard", "[speech]") {
  const auto names = GENERATE(Names{}, Names{"a", "b/c", "/3", "a/"}, Names{"a", "b/0x", "b/-1", "b/01"});
  const Tokens tokens(names, 4);
  CHECK(tokens.count() == 4);
  CHECK(tokens.in(Said{1, 1, 0, 3, 3, 3, 1}) == Said{1, 0, 3, 1});
}

TEST_CASE("variants of a state are states of the same token", "[speech]") {
  const Tokens tokens(Names{"ah/0", "ah/0 V_", "ah/0 V_N", "ah/1", "ah/1 V_N"}, 5);
  CHECK(tokens.count() == 1);
  CHECK(tokens.in(Said{2, 2, 4}) == Said{0});
  CHECK(tokens.in(Said{1, 3, 0}) == Said{0, 0});
}

TEST_CASE("labels that are no classes say nothing, which is told", "[speech]") {
  const Tokens tokens(Names{"a/0", "a/1"}, 2);
  for (const std::int32_t label : {-1, 2})
    CHECK_THROWS_WITH(tokens.in(Said{0, label}), contains_text("is out of range for 2 classes"));
}

TEST_CASE("a word whose classes do not follow each other is refused", "[speech]") {
  CHECK_THROWS_WITH(Tokens(Names{"one/0", "two/0", "one/0"}, 3), contains_text("class 2 belongs to 'one', but other words"));
  CHECK_THROWS_AS(Tokens(Names{"pau", "one", "pau"}, 3), core::ConfigError);
}
