// sparta: which parameters are averaged, and to what.
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

namespace {

/// After each meeting of workers whose models are all different, the parameters that are equal at all of them. They are made
/// different again before the next one.
std::vector<std::set<std::size_t>> masks(int workers, const core::Settings& settings, std::size_t meetings,
                                         std::uint64_t seed = 3) {
  std::vector<std::vector<std::vector<float>>> models(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "sparta", settings, {}, 0, {.seed = seed});
    auto& strategy = dynamic_cast<strategies::MeetingStrategy&>(*harness.strategy);
    CHECK(strategy.next_meeting(4, 9) == 5);
    for (std::size_t meeting = 1; meeting <= meetings; ++meeting) {
      for (std::size_t i = 0; i < length; ++i)
        harness.parameters[i] = static_cast<float>(i + 1) * static_cast<float>(1 + 2 * worker.rank());
      strategy.meet(worker, *harness.replica, {.round = meeting, .rounds = meetings, .passed = 1, .samples = 1});
      models[static_cast<std::size_t>(worker.rank())].push_back(harness.parameters);
    }
  });
  std::vector<std::set<std::size_t>> result(meetings);
  for (std::size_t meeting = 0; meeting < meetings; ++meeting)
    for (std::size_t i = 0; i < length; ++i) {
      const bool averaged = models[0][meeting][i] == models[1][meeting][i];
      if (averaged) result[meeting].insert(i);
      for (std::size_t rank = 0; rank < models.size();
           ++rank) {  // 1, 3, 5 … times i + 1, whose mean is `workers` times that
        const double expected = static_cast<double>(i + 1) * (averaged ? workers : static_cast<double>(1 + 2 * rank));
        REQUIRE(models[rank][meeting][i] == Approx(expected).epsilon(1e-6));
      }
    }
  return result;
}

}  // namespace

TEST_CASE("the workers average the same parameters, drawn anew for each minibatch, and touch no others", "[strategies]") {
  const double share = GENERATE(0.02, 0.3, 0.9);
  const std::size_t meetings = 400;
  const auto drawn = masks(GENERATE(2, 3), {{"mask-share", share}}, meetings);
  double all = 0;
  std::vector<double> of_parameter(length);
  for (const auto& mask : drawn)
    for (const std::size_t i : mask) all += 1, of_parameter[i] += 1;
  const double expected = share * static_cast<double>(length * meetings);
  CHECK(std::abs(all - expected) < 5 * std::sqrt(expected * (1 - share)));
  for (const double times : of_parameter) {
    const double once = share * static_cast<double>(meetings);
    CHECK(std::abs(times - once) < 5 * std::sqrt(once * (1 - share)));
  }
  CHECK(std::set(drawn.begin(), drawn.end()).size() > 5);
  CHECK(drawn != masks(2, {{"mask-share", share}}, meetings, 4));
}

TEST_CASE("in a cycle every parameter has its turn once", "[strategies]") {
  const auto [share, turns] =
      GENERATE(values<std::pair<double, std::size_t>>({{0.25, 4}, {0.1, 10}, {0.3, 4}, {1, 1}, {0.01, 100}}));
  const auto drawn = masks(2, {{"mask-share", share}, {"mask", "cycle"}}, 3 * turns);
  for (std::size_t number = 0; number < 3; ++number) {
    std::set<std::size_t> all;
    std::size_t sum = 0;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      const auto& mask = drawn[number * turns + turn];
      all.insert(mask.begin(), mask.end());
      sum += mask.size();
    }
    CHECK(all.size() == length);
    CHECK(sum == length);
  }
  const auto cycle = [&](std::size_t number) {
    const auto begin = drawn.begin() + static_cast<std::ptrdiff_t>(number * turns);
    return std::vector<std::set<std::size_t>>(begin, begin + static_cast<std::ptrdiff_t>(turns));
  };
  if (turns > 1) CHECK(cycle(0) != cycle(1));  // another order
}

TEST_CASE("the model that is shown is the mean of all, and each goes on with its own", "[strategies]") {
  const int workers = GENERATE(1, 3);
  std::vector<std::vector<float>> shown(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "sparta", {});
    move_by(harness, static_cast<float>(worker.rank()));
    const auto own = harness.parameters;
    harness.strategy->show_model(worker, *harness.replica);
    shown[static_cast<std::size_t>(worker.rank())] = harness.parameters;
    harness.strategy->resume_work(worker, *harness.replica);
    CHECK(harness.parameters == own);
  });
  for (const auto& model : shown)
    for (std::size_t i = 0; i < length; ++i)
      CHECK(model[i] == Approx(static_cast<double>(i) + (workers - 1) / 2.).epsilon(1e-6));
}
