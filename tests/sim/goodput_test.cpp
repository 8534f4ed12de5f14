#include "sim/failures/goodput.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using sim::Goodput;
using Failures = sim::Platform::Failures;

namespace {

constexpr std::uint64_t enough_failures = 400'000;

Goodput goodput_of(const Failures& failures, int nodes, int groups = 1) {
  return sim::simulate_goodput(failures, nodes, 1, groups, enough_failures);
}

double sum_of_parts(const Goodput& goodput) {
  return goodput.useful + goodput.lost + goodput.saving + goodput.stopped + goodput.absent;
}

}  // namespace

TEST_CASE("goodput: work and stops alternate, so failures cost what renewal theory says", "[sim]") {
  const Failures failures{.mtbf_s = 1e6, .restart_s = 100};  // repaired during the stop
  for (const int nodes : {100, 10'000, 100'000}) {
    const Goodput goodput = goodput_of(failures, nodes);
    const double rate = nodes / failures.mtbf_s;
    CAPTURE(nodes);
    CHECK(goodput.useful == Approx(1 / (1 + rate * failures.restart_s)).margin(4 * goodput.standard_error + 2e-3));
    CHECK(goodput.useful ==
          Approx(sim::first_order_goodput(failures, nodes, 1, 1)).margin(4 * goodput.standard_error + 2e-3));
    CHECK(goodput.time_between_failures_s == Approx(1 / rate));
  }
}

TEST_CASE("goodput: all of the devices' time is accounted for", "[sim]") {
  const Failures failures{.mtbf_s = 1e5,
                          .repair_s = 500,
                          .restart_s = 20,
                          .rejoin_s = 5,
                          .rejoin_every_s = 60,
                          .save_s = 2,
                          .loses_work = true,
                          .save_every_s = 40};
  const Goodput goodput = goodput_of(failures, 1000);
  CHECK(sum_of_parts(goodput) == Approx(1));
  for (const double part : {goodput.useful, goodput.lost, goodput.saving, goodput.stopped, goodput.absent})
    CHECK(part > 0.003);
  // A node is away from its failure to the first opportunity after its repair; nodes under repair do not fail.
  CHECK(goodput.absent > failures.repair_s / (failures.repair_s + failures.mtbf_s));
}

TEST_CASE("goodput: the work lost at a failure is that since the last saved state", "[sim]") {
  const Failures failures{.mtbf_s = 1e6, .save_s = 1e-9, .loses_work = true, .save_every_s = 300};
  const int nodes = 1000;
  const double rate = nodes / failures.mtbf_s, interval = failures.save_every_s;
  const Goodput goodput = goodput_of(failures, nodes);
  // Of an exponential time between failures, whole intervals are kept.
  CHECK(goodput.useful == Approx(rate * interval / std::expm1(rate * interval)).margin(4 * goodput.standard_error + 1e-3));
  CHECK(sum_of_parts(goodput) == Approx(1));
}

TEST_CASE("goodput: Daly's interval between states is better than its half and its double", "[sim]") {
  Failures failures{.mtbf_s = 1e6, .restart_s = 10, .save_s = 5, .loses_work = true};
  const int nodes = 500;
  const double best = goodput_of(failures, nodes).useful;
  const double interval = sim::interval_between_states_s(failures.save_s, failures.mtbf_s / nodes);
  CHECK(interval == Approx(std::sqrt(2 * 5 * 2000.)).epsilon(0.05));  // Young's
  // Daly, FGCS 22(3), 2006, equation 37, by hand: 1414.2136 (1 + 0.0235702 + 0.0005556) - 100.
  CHECK(sim::interval_between_states_s(100, 10000) == Approx(1348.3323).epsilon(1e-6));
  CHECK(sim::interval_between_states_s(100, 50) == 50);
  for (const double factor : {0.5, 2.}) {
    failures.save_every_s = factor * interval;
    CHECK(goodput_of(failures, nodes).useful < best);
  }
}

TEST_CASE("goodput: groups that do not wait for each other lose less, each what it would alone", "[sim]") {
  const Failures failures{.mtbf_s = 1e6, .repair_s = 600, .restart_s = 50, .rejoin_s = 10, .rejoin_every_s = 100};
  const Goodput alone = goodput_of(failures, 1000);
  const Goodput eight = goodput_of(failures, 8000, 8);
  const Goodput together = goodput_of(failures, 8000);
  CHECK(eight.useful == Approx(alone.useful).margin(4 * (alone.standard_error + eight.standard_error)));
  CHECK(together.useful < eight.useful - 0.1);
}

TEST_CASE("goodput: worse failures never help", "[sim]") {
  const Failures base{.mtbf_s = 1e6,
                      .repair_s = 300,
                      .restart_s = 20,
                      .rejoin_s = 10,
                      .rejoin_every_s = 100,
                      .save_s = 2,
                      .loses_work = true,
                      .save_every_s = 100};
  const auto useful = [](const Failures& failures) { return goodput_of(failures, 1000).useful; };
  const double before = useful(base);
  for (double Failures::*const cost : {&Failures::repair_s, &Failures::restart_s, &Failures::rejoin_s, &Failures::save_s}) {
    Failures worse = base;
    worse.*cost *= 5;
    CHECK(useful(worse) < before);
  }
  Failures more = base;
  more.mtbf_s /= 3;
  CHECK(useful(more) < before);
}

TEST_CASE("goodput: a platform whose nodes are all under repair waits for the first of them", "[sim]") {
  const Failures failures{.mtbf_s = 10, .repair_s = 1000, .restart_s = 1};
  const Goodput goodput = sim::simulate_goodput(failures, 1, 1, 1, 2000);
  CHECK(goodput.useful == Approx(10. / 1010).epsilon(0.1));
  CHECK(sum_of_parts(goodput) == Approx(1));
}

TEST_CASE("goodput: more groups than nodes are refused", "[sim]") {
  CHECK_THROWS_AS(sim::simulate_goodput({.mtbf_s = 1e6}, 3, 1, 4, enough_failures), core::ConfigError);
}
