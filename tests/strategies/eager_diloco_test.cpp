// eager_diloco against the published algorithm in double, which keeps an outer optimiser per worker.
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

namespace {

constexpr int trained_blocks = 7;
constexpr double outer_rate = 0.6, outer_momentum = 0.8;
const core::Settings outer_step{{"outer-learning-rate", outer_rate}, {"outer-momentum", outer_momentum}};

/// What a worker's training adds to parameter i. The last of several has no data in the third block.
bool trains(int rank, int workers, int block) { return workers == 1 || rank < workers - 1 || block != 2; }
double learnt(std::size_t i, int rank, int block) { return std::sin(static_cast<double>(i) + 3. * rank + 5. * block); }

struct BothModels {
  std::vector<std::vector<float>> own, shown;
};

/// Trains as the loop does, with a round per block; every worker that trains has as many samples.
BothModels train(int workers, const std::string& name, core::Settings settings) {
  settings.insert(outer_step.begin(), outer_step.end());
  const auto count = static_cast<std::size_t>(workers);
  BothModels models{std::vector<std::vector<float>>(count), std::vector<std::vector<float>>(count)};
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, name, settings);
    auto* const meeting = dynamic_cast<strategies::MeetingStrategy*>(harness.strategy.get());
    for (int block = 0; block < trained_blocks; ++block) {
      const bool busy = trains(worker.rank(), workers, block);
      for (std::size_t i = 0; busy && i < length; ++i)
        harness.parameters[i] += static_cast<float>(learnt(i, worker.rank(), block));
      const std::size_t samples = busy ? 3 : 0;
      if (meeting != nullptr)
        meeting->meet(worker, *harness.replica, {.round = 4, .rounds = 4, .passed = 4, .samples = samples});
      else
        harness.strategy->synchronise(worker, *harness.replica, samples);
      if (block % 2 == 0) continue;  // showing the model changes nothing
      const std::vector<float> before = harness.parameters;
      harness.strategy->show_model(worker, *harness.replica);
      models.shown[static_cast<std::size_t>(worker.rank())] = harness.parameters;
      harness.strategy->resume_work(worker, *harness.replica);
      CHECK(harness.parameters == before);
    }
    models.own[static_cast<std::size_t>(worker.rank())] = harness.parameters;
    harness.strategy->show_model(worker, *harness.replica);
    models.shown[static_cast<std::size_t>(worker.rank())] = harness.parameters;
  });
  return models;
}

/// Algorithm of Kale et al.: a worker's gradient of block t has its own displacement of t and the others' of t - 1.
/// Without `eager` all are of t - 1. A mean weighs the workers that have trained; the workers' own parts weigh 1/N.
std::vector<std::vector<double>> published(int workers, bool eager) {
  const auto count = static_cast<std::size_t>(workers);
  std::vector<std::vector<double>> models(count, std::vector<double>(length));
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<double> x(count, static_cast<double>(i)), v(count);
    const auto displacement = [&](int rank, int block) {
      return block < 0 || !trains(rank, workers, block) ? 0 : -learnt(i, rank, block);
    };
    for (int block = 0; block < trained_blocks; ++block) {
      double sum = 0, trained = 0;
      for (int rank = 0; rank < workers; ++rank)
        sum += displacement(rank, block - 1), trained += trains(rank, workers, block - 1);
      for (int rank = 0; rank < workers; ++rank) {
        const auto k = static_cast<std::size_t>(rank);
        double gradient = sum / trained;
        if (eager) gradient += (displacement(rank, block) - displacement(rank, block - 1)) / workers;
        v[k] = outer_momentum * v[k] + gradient;
        x[k] -= outer_rate * (gradient + outer_momentum * v[k]);
      }
    }
    for (std::size_t k = 0; k < count; ++k) models[k][i] = x[k];
  }
  return models;
}

}  // namespace

TEST_CASE("eager_diloco is the algorithm that keeps an outer optimiser per worker", "[strategies]") {
  const int workers = GENERATE(1, 2, 3, 4);
  const bool eager = GENERATE(true, false);
  const std::string collective = GENERATE("ring", "butterfly");
  CAPTURE(workers, eager, collective);
  const BothModels models = train(workers, "eager_diloco", {{"eager", eager}, {"collective", collective}});
  const auto expected = published(workers, eager);
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(models.own[k][i] == Approx(expected[k][i]).epsilon(1e-5).margin(2e-5));
}

TEST_CASE("what eager_diloco shows has every displacement: the model of diloco for the same ones", "[strategies]") {
  const int workers = GENERATE(1, 2, 3);
  const bool eager = GENERATE(true, false);
  const BothModels models = train(workers, "eager_diloco", {{"eager", eager}}), diloco = train(workers, "diloco", {});
  for (std::size_t k = 0; k < models.shown.size(); ++k) {
    CHECK(models.shown[k] == models.shown[0]);
    for (std::size_t i = 0; i < length; ++i)
      REQUIRE(models.shown[k][i] == Approx(diloco.shown[k][i]).epsilon(1e-5).margin(2e-5));
  }
}

TEST_CASE("one worker of eager_diloco takes the steps of diloco", "[strategies]") {
  const BothModels eager = train(1, "eager_diloco", {}), diloco = train(1, "diloco", {});
  for (std::size_t i = 0; i < length; ++i) REQUIRE(eager.own[0][i] == Approx(diloco.own[0][i]).epsilon(1e-6).margin(1e-5));
}

TEST_CASE("eager_diloco without eager steps starts all workers from the same model", "[strategies]") {
  const BothModels models = train(3, "eager_diloco", {{"eager", false}});
  for (const auto& model : models.own) CHECK(model == models.own[0]);
}
