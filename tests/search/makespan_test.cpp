#include "search/makespan.hpp"

#include <vector>

#include "catch.hpp"

using namespace paragrad;

TEST_CASE("groups take the next task as soon as they are free", "[search]") {
  const std::vector<double> tasks{3, 1, 1, 4, 2};
  CHECK(search::makespan(tasks, 1) == 11);
  CHECK(search::makespan(tasks, 2) == 6);  // 3, 2 and 1, 1, 4
  CHECK(search::makespan(tasks, 5) == 4);
  CHECK(search::makespan(tasks, 100) == 4);
  CHECK(search::makespan(std::vector<double>{}, 3) == 0);
}
