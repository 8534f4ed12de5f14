#include "search/methods.hpp"

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using search::Methods, search::Space, search::Values;

namespace {

Space space_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& options) {
  Space space;
  for (const auto& [option, values] : options) space.add(option, values);
  return space;
}

}  // namespace

TEST_CASE("methods have their configurations one after the other, each with its own options and draws", "[search]") {
  Methods methods;
  methods.add("a", space_of({{"rate", {"0.1", "0.2"}}, {"blocks", {"4"}}}));
  methods.add("b", space_of({{"rate", {"0.01..1 log"}}}));
  methods.add("c", space_of({{"blocks", {"2", "3"}}}));
  const auto all = methods.configurations(3, 1);
  REQUIRE(all.size() == 2 + 3 + 2);
  std::string order;
  for (const search::Configuration& one : all) order += one.method;
  CHECK(order == "aabbbcc");
  CHECK(all[1].values == Values{{"rate", "0.2"}, {"blocks", "4"}});
  CHECK(all[6].values == Values{{"blocks", "3"}});
  const auto alone = space_of({{"rate", {"0.01..1 log"}}}).configurations(3, 1);
  for (std::size_t draw = 0; draw < 3; ++draw) CHECK(all[2 + draw].values == alone[draw]);
  CHECK(methods.varied() == std::vector<std::string>{"rate", "blocks"});
  CHECK(methods.has_ranges());
  CHECK_THROWS_AS(methods.add("b", {}), core::ConfigError);
}

TEST_CASE("a search without methods has one without a name", "[search]") {
  Methods methods;
  methods.add("", space_of({{"rate", {"0.1", "0.2"}}}));
  CHECK_FALSE(methods.has_ranges());
  CHECK(methods.configurations(9, 1).size() == 2);
  CHECK(methods.configurations(9, 1)[0].method.empty());
}
