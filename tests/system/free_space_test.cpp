#include "system/free_space.hpp"

#include "catch.hpp"
#include "core/errors.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using paragrad::core::ConfigError;
using namespace paragrad::test;

TEST_CASE("a file larger than what is free on its disk is refused before it is written", "[system]") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(system::require_free_space(folder.file("x"), 1));
  CHECK_THROWS_WITH(
      system::require_free_space(folder.file("x"), 1e18),
      contains_text("'" + folder.file("x") + "' needs 1000000TB more, but its disk has only ") && contains_text(" free"));
  write_text(folder.file("old"), "to be replaced");
  CHECK_THROWS_AS(system::require_free_space(folder.file("old"), 1e18), ConfigError);
  CHECK_THROWS_AS(system::require_free_space("relative", 1e18), ConfigError);
}
