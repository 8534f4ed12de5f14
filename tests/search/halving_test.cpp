#include "search/halving.hpp"

#include <cmath>

#include "catch.hpp"

using namespace paragrad;
using Places = std::vector<std::size_t>;

TEST_CASE("the better share goes on, failed runs never", "[search]") {
  const std::vector<double> scores{0.3, NAN, 0.1, 0.2, 0.1};
  CHECK(search::survivors(scores, 0.5) == Places{2, 4, 3});
  CHECK(search::survivors(scores, 0.2) == Places{2});
  CHECK(search::survivors(scores, 1) == Places{2, 4, 3, 0});
  CHECK(search::survivors(std::vector<double>{NAN, NAN}, 0.5).empty());
  CHECK(search::survivors(std::vector<double>{0.7}, 0.01) == Places{0});
}
