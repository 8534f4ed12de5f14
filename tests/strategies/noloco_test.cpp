// noloco against its formulas in double, and against bmuf where everybody meets.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "core/philox.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

namespace {

constexpr std::uint64_t seed = 5;
constexpr int blocks = 6;

double displacement(std::size_t i, int rank, int block) { return std::sin(static_cast<double>(i) + 3. * rank + 5. * block); }

/// As the loop of a training does, with a round per block.
std::vector<std::vector<float>> train(int workers, const std::string& name, const core::Settings& settings, bool shown) {
  std::vector<std::vector<float>> result(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, name, settings, {}, 0, {.seed = seed});
    auto* const meeting = dynamic_cast<strategies::MeetingStrategy*>(harness.strategy.get());
    for (int block = 0; block < blocks; ++block) {
      for (std::size_t i = 0; i < length; ++i)
        harness.parameters[i] += static_cast<float>(displacement(i, worker.rank(), block));
      if (meeting != nullptr) {
        REQUIRE(meeting->next_meeting(0, 4) == 4);
        meeting->meet(worker, *harness.replica, {.round = 4, .rounds = 4, .passed = 4, .samples = 3});
      } else {
        harness.strategy->synchronise(worker, *harness.replica, 3);
      }
    }
    const std::vector<float> own = harness.parameters;
    harness.strategy->show_model(worker, *harness.replica);
    if (shown) result[static_cast<std::size_t>(worker.rank())] = harness.parameters;
    harness.strategy->resume_work(worker, *harness.replica);
    if (meeting != nullptr) CHECK(harness.parameters == own);
    if (!shown) result[static_cast<std::size_t>(worker.rank())] = harness.parameters;
  });
  return result;
}

/// The groups of a meeting.
std::vector<std::vector<std::size_t>> groups_of(int workers, int meeting, std::size_t size) {
  const auto drawn = core::RandomStream(seed, core::Purpose::groups, static_cast<std::uint32_t>(meeting))
                         .permutation(static_cast<std::uint32_t>(workers));
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (i % size == 0) groups.emplace_back();
    groups.back().push_back(drawn[i]);
  }
  return groups;
}

}  // namespace

TEST_CASE("noloco follows its formulas, with a worker left over too", "[strategies]") {
  const int workers = GENERATE(1, 2, 3, 4, 5);
  const std::size_t size = GENERATE(2u, 3u);
  const double a = 0.5, b = GENERATE(0.7, 1.), c = GENERATE(0., 0.7);
  CAPTURE(workers, size, b, c);
  const core::Settings settings{{"group-size", size}, {"group-momentum", a}, {"group-rate", b}, {"group-pull", c}};
  const auto count = static_cast<std::size_t>(workers);
  std::vector<double> start(length);
  std::iota(start.begin(), start.end(), 0);
  std::vector<std::vector<double>> phi(count, start), v(count, std::vector<double>(length));
  for (int block = 0; block < blocks; ++block) {
    const auto before = phi;
    for (const auto& group : groups_of(workers, block, size))
      for (const std::size_t k : group)
        for (std::size_t i = 0; i < length; ++i) {
          double moved = 0, mean = 0;
          for (const std::size_t j : group) {
            moved += displacement(i, static_cast<int>(j), block) / static_cast<double>(group.size());
            mean += before[j][i] / static_cast<double>(group.size());
          }
          v[k][i] = a * v[k][i] + b * moved + c * (mean - before[k][i]);
          phi[k][i] = before[k][i] + v[k][i];
        }
  }
  const auto own = train(workers, "noloco", settings, false), shown = train(workers, "noloco", settings, true);
  for (std::size_t i = 0; i < length; ++i) {
    double mean = 0;
    for (std::size_t k = 0; k < count; ++k) {
      mean += phi[k][i] / static_cast<double>(count);
      REQUIRE(own[k][i] == Approx(phi[k][i]).epsilon(1e-5).margin(2e-5));
    }
    for (const auto& model : shown) REQUIRE(model[i] == Approx(mean).epsilon(1e-5).margin(2e-5));
  }
}

TEST_CASE("noloco with a group of all is bmuf with classical block momentum", "[strategies]") {
  const int workers = GENERATE(2, 3, 5);
  const auto noloco =
      train(workers, "noloco", {{"group-size", std::size_t{5}}, {"group-momentum", 0.6}, {"group-rate", 0.9}}, false);
  const auto bmuf =
      train(workers, "bmuf", {{"bmuf-kind", "cbm"}, {"block-momentum", 0.6}, {"block-learning-rate", 0.9}}, false);
  for (std::size_t k = 0; k < noloco.size(); ++k) {
    CHECK(noloco[k] == noloco[0]);
    for (std::size_t i = 0; i < length; ++i) REQUIRE(noloco[k][i] == Approx(bmuf[k][i]).epsilon(1e-6).margin(1e-5));
  }
}

TEST_CASE("members of a group that meet for the first time end in the same bits", "[strategies]") {
  const core::Settings settings{{"group-size", std::size_t{3}}, {"group-pull", 0}};
  std::vector<std::vector<float>> models(7);
  sim::run(7, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "noloco", settings, {}, 0, {.seed = seed});
    for (std::size_t i = 0; i < length; ++i) harness.parameters[i] += static_cast<float>(displacement(i, worker.rank(), 0));
    dynamic_cast<strategies::MeetingStrategy&>(*harness.strategy).meet(worker, *harness.replica, {1, 1, 1, 3});
    models[static_cast<std::size_t>(worker.rank())] = harness.parameters;
  });
  std::set<std::vector<float>> different;
  for (const auto& group : groups_of(7, 0, 3)) {
    for (const std::size_t k : group) CHECK(models[k] == models[group.front()]);
    different.insert(models[group.front()]);
  }
  CHECK(different.size() == 3);
}
