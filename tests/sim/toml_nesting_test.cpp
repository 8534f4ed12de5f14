#include "sim/toml_nesting.hpp"

#include <string>

#include "catch.hpp"
#include "core/errors.hpp"
#include "every_key.hpp"
#include "sim/platform.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using sim::line_nested_too_deeply;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("deep brackets and dotted keys are found with their line, wherever they stand", "[sim]") {
  const std::string before = "a = 1  # [[[[ a.b.c\n\n", deep = repeated("a.", 1000);
  for (const std::string& text :
       {"[" + deep + "a]", "[[" + deep + "a]]", deep + "a = 1", "b = { " + deep + "a = 1 }", "b = " + repeated("[", 1000),
        "b = " + repeated("{a=", 1000), "[" + repeated("\"a\" . ", 1000) + "a]", "[" + repeated("'a'.", 1000) + "a]"}) {
    CHECK(line_nested_too_deeply(text) == 1);
    CHECK(line_nested_too_deeply(before + text) == 3);
    CHECK(line_nested_too_deeply("s = \"\\\"[\"\nt = '[\\'\nu = \"\"\"[[\n\"\"\"\n" + text) == 5);
  }
}

TEST_CASE("what is long but does not nest is no reason to refuse", "[sim]") {
  CHECK(line_nested_too_deeply(sim::platform_with_every_key) == 0);
  CHECK(line_nested_too_deeply("a = [" + repeated("1.5, ", 1000) + "2.5]") == 0);
  CHECK(line_nested_too_deeply(repeated("[a.b]\n", 1000)) == 0);
  CHECK(line_nested_too_deeply("a = '" + repeated("[.", 1000) + "'") == 0);
  CHECK(line_nested_too_deeply("# " + repeated("[.", 1000)) == 0);
  CHECK(line_nested_too_deeply("") == 0);
}

TEST_CASE("a platform file that nests deeply is refused", "[sim]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("p.toml"),
                   std::string(sim::platform_with_every_key) + "[" + repeated("a.", 100'000) + "a]\n");
  CHECK_THROWS_WITH(sim::read_platform(folder.file("p.toml")), contains_text("nest too deeply"));
}
