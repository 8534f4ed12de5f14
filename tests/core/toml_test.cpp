#include "core/toml.hpp"

#include <string>

#include "catch.hpp"

using namespace paragrad;
using core::line_nested_too_deeply;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("deep brackets and dotted keys are found with their line, wherever they stand", "[core]") {
  const std::string before = "a = 1  # [[[[ a.b.c\n\n", deep = repeated("a.", 1000);
  for (const std::string& text :
       {"[" + deep + "a]", "[[" + deep + "a]]", deep + "a = 1", "b = { " + deep + "a = 1 }", "b = " + repeated("[", 1000),
        "b = " + repeated("{a=", 1000), "[" + repeated("\"a\" . ", 1000) + "a]", "[" + repeated("'a'.", 1000) + "a]"}) {
    CHECK(line_nested_too_deeply(text) == 1);
    CHECK(line_nested_too_deeply(before + text) == 3);
    CHECK(line_nested_too_deeply("s = \"\\\"[\"\nt = '[\\'\nu = \"\"\"[[\n\"\"\"\n" + text) == 5);
  }
}

TEST_CASE("what is long but does not nest is no reason to refuse", "[core]") {
  CHECK(line_nested_too_deeply("a = [" + repeated("1.5, ", 1000) + "2.5]") == 0);
  CHECK(line_nested_too_deeply(repeated("[a.b]\n", 1000)) == 0);
  CHECK(line_nested_too_deeply("a = '" + repeated("[.", 1000) + "'") == 0);
  CHECK(line_nested_too_deeply("# " + repeated("[.", 1000)) == 0);
  CHECK(line_nested_too_deeply("") == 0);
}

TEST_CASE("what is not TOML is named with its line", "[core]") {
  CHECK(core::parse_toml("'x.toml'", "a = 1\n[b]\nc = 'd'\n")["b"]["c"].value<std::string>() == "d");
  CHECK_THROWS_WITH(core::parse_toml("'x.toml'", "a = 1\n\nb = c\n"), contains_text("'x.toml', line 3: "));
  CHECK_THROWS_WITH(core::parse_toml("'x.toml'", "a = 1\nb = " + repeated("[", 100'000)),
                    contains_text("'x.toml', line 2: brackets or dotted keys nest too deeply"));
}
