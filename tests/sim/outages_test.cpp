#include "sim/failures/outages.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace paragrad;
using sim::Outages;
using Failures = sim::Platform::Failures;

TEST_CASE("outages: failures come at the rate of the working devices", "[sim]") {
  const Failures failures{.mtbf_s = 1000};
  Outages outages(failures, 50, 4);
  double sum_s = 0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) sum_s += outages.next_failure_s(7) - 7;
  const double mean_s = 1000. / 200;
  CHECK(sum_s / draws == Approx(mean_s).margin(4 * mean_s / std::sqrt(draws)));
}

TEST_CASE("outages: a node is away until it is repaired and rejoins", "[sim]") {
  const Failures failures{.repair_s = 10, .rejoin_every_s = 30};
  Outages outages(failures, 3, 1, 0, {1, 2, 100});
  CHECK(outages.next_failure_s(0) == 1);
  CHECK(std::isinf(outages.next_rejoin_s(0)));
  outages.lose_node(1);
  CHECK(outages.next_failure_s(1) == 2);
  outages.lose_node(2);
  CHECK(outages.working() == 1);
  CHECK(outages.next_rejoin_s(2) == 11);
  CHECK(outages.next_rejoin_s(11.5) == 11.5);
  outages.rejoin(11.5);
  CHECK(outages.working() == 2);  // the other is not repaired yet
  CHECK(outages.next_rejoin_s(11.5) == 41.5);
  outages.rejoin(41.5);
  CHECK(outages.working() == 3);
  CHECK(outages.next_failure_s(41.5) == 100);
  CHECK(outages.lost() == 2);
}

TEST_CASE("outages: failures during a stop do not prolong it, and who is repaired meanwhile joins at its end", "[sim]") {
  const Failures failures{.repair_s = 3};
  Outages outages(failures, 4, 1, 0, {10, 11, 18});
  outages.lose_node(10);
  std::vector<double> changes;
  CHECK(outages.stop(10, 9, [&](double at) { changes.push_back(at); }) == 19);
  CHECK(changes == std::vector<double>{11, 18, 19});
  CHECK(outages.lost() == 3);
  CHECK(outages.working() == 3);  // the last one is under repair
}
