// Strategies that exchange gradients.
#include <stdexcept>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

TEST_CASE("data-parallel workers all apply the sum of their gradients, in whatever buckets", "[strategies]") {
  const int workers = GENERATE(2, 3, 4);
  const std::size_t bucket_bytes = GENERATE(0u, 1u, 20u, 4u * length, 1000u);
  const bool overlap = GENERATE(true, false);
  core::Settings options;
  options["bucket-bytes"] = bucket_bytes;
  options["overlap"] = overlap;
  const auto parameters = after(workers, "data_parallel", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    harness.replica->step = {.rate = 0.5f, .momentum = 0.5f};
    for (int step = 0; step < 2; ++step) {
      for (float& g : harness.optimiser->gradients()) g = static_cast<float>(worker.rank() + 1);
      for (const core::Range range : {core::Range{20, length}, core::Range{3, 20}, core::Range{0, 3}})
        harness.exchange().gradient_ready(worker, *harness.replica, range);
      harness.exchange().step(worker, *harness.replica);
    }
  });
  const float sum = static_cast<float>(workers * (workers + 1)) / 2;
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(p[i] == static_cast<float>(i) - 0.5f * (1 + 1.5f) * sum);  // momentum
}

TEST_CASE("a buffered gradient is applied one minibatch late, once, with the step that it was computed with",
          "[strategies]") {
  core::Settings options;
  options["buffered"] = true;
  const auto parameters = after(2, "data_parallel", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    float applied = 0, late = 0;  // the latter travels
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const float minibatch : {1.f, 2.f, 4.f}) {
        for (float& g : harness.optimiser->gradients()) g = minibatch * static_cast<float>(worker.rank() + 1);
        harness.replica->step = {.rate = minibatch / static_cast<float>(1 << epoch)};
        harness.exchange().gradient_ready(worker, *harness.replica, {0, length});
        harness.exchange().step(worker, *harness.replica);
        applied += late;
        late = harness.replica->step.rate * 3 * minibatch;
        CHECK(harness.parameters[5] == 5 - applied);
      }
      harness.strategy->show_model(worker, *harness.replica);
      applied += late;
      late = 0;
      CHECK(harness.parameters[5] == 5 - applied);
    }
  });
  CHECK(parameters[0][5] == 5 - 3 * (1 + 4 + 16) * 1.5f);
  CHECK(parameters[1] == parameters[0]);
}

TEST_CASE("a step whose gradient was not announced whole is a broken contract", "[strategies]") {
  CHECK_THROWS_AS(after(2, "data_parallel", {},
                        [](comm::Worker& worker, StrategyHarness& harness) {
                          harness.exchange().gradient_ready(worker, *harness.replica, {1, length});
                          harness.exchange().step(worker, *harness.replica);
                        }),
                  std::logic_error);
}

TEST_CASE("post_local_sgd exchanges gradients until its local epochs and averages models in them", "[strategies]") {
  core::Settings options;
  options["local-start-epoch"] = 3;
  const auto parameters = after(2, "post_local_sgd", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    CHECK(harness.exchanges(2));
    CHECK_FALSE(harness.exchanges(1));
    for (int epoch = 1; epoch <= 4; ++epoch) {
      harness.strategy->begin_epoch(worker, *harness.replica, epoch);
      CHECK(harness.exchanges(2) == (epoch < 3));
      move_by(harness, static_cast<float>(worker.rank()));
      harness.strategy->synchronise(worker, *harness.replica, 10);
      CHECK(harness.parameters[0] == (epoch < 3 ? static_cast<float>(epoch * worker.rank()) : epoch == 3 ? 1.5f : 2.f));
    }
  });
  CHECK(parameters[0] == parameters[1]);
}
