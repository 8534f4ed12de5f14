// Blockwise model-update filtering: its formulas, what it explains and reports, what it amounts to without momentum.
#include <cmath>
#include <map>
#include <optional>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

TEST_CASE("an update of one block adds up to zeta/(1-eta) of itself, in CNTK's form to (1+eta) times that", "[strategies]") {
  const int workers = GENERATE(1, 3, 4);
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  const double eta = 0.75, zeta = 0.5;
  core::Settings options;
  options["bmuf-kind"] = kind;
  options["block-momentum"] = eta;
  options["block-learning-rate"] = zeta;
  options["collective"] = collective;

  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    move_by(harness, 1);  // G = 1 in the first block, and nothing happens after it
    for (int block = 0; block < 60; ++block) harness.strategy->synchronise(worker, *harness.replica, 10);
    harness.strategy->show_model(worker, *harness.replica);
  });

  const double total = zeta / (1 - eta) * (kind == "nbm_cntk" ? 1 + eta : 1);
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i)
      REQUIRE(p[i] - static_cast<float>(i) == Approx(total).margin(1e-3));  // the mean of N equal models is rounded
}

TEST_CASE("a block's first effect is zeta G for cbm, (1+eta) zeta G at nbm's starting point and zeta G in its model",
          "[strategies]") {
  core::Settings options;
  options["block-momentum"] = 0.75;
  options["block-learning-rate"] = 0.5;
  const auto step = [&](const std::string& kind, bool shown) {
    options["bmuf-kind"] = kind;
    const auto parameters = after(2, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
      move_by(harness, 1);
      harness.strategy->synchronise(worker, *harness.replica, 10);
      if (shown) harness.strategy->show_model(worker, *harness.replica);
    });
    return parameters[1][0];
  };
  CHECK(step("cbm", false) == Approx(0.5));
  CHECK(step("nbm", false) == Approx(0.5 * 1.75));
  CHECK(step("nbm", true) == Approx(0.5));
  CHECK(step("nbm_cntk", false) == Approx(0.5 * 1.75));
  CHECK(step("nbm_cntk", true) == Approx(0.5 * 1.75));
}

TEST_CASE("in CNTK's form the block learning rate is what the sum of the workers' updates weighs in the end",
          "[strategies]") {
  const int workers = GENERATE(1, 3);
  core::Settings options;
  options["bmuf-kind"] = GENERATE("cbm", "nbm");
  options["block-momentum"] = GENERATE(0., 0.5, 0.8);
  options["block-learning-rate"] = 0.7;
  options["block-learning-rate-form"] = "cntk";
  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    move_by(harness, 1);
    for (int block = 0; block < 80; ++block) harness.strategy->synchronise(worker, *harness.replica, 10);
  });
  CHECK(parameters[0][0] == Approx(0.7 * workers).margin(1e-4));
}

TEST_CASE("block momentum as a time constant is e^(-B/T), B being all samples of a block over the workers", "[strategies]") {
  const int workers = 3;
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  const std::string form = GENERATE("paper", "cntk");
  core::Settings options;
  options["bmuf-kind"] = kind;
  options["block-momentum-time-constant"] = 40;
  options["block-learning-rate"] = 0.9;
  options["block-learning-rate-form"] = form;
  const auto samples = [](int block, int rank) {
    return static_cast<std::size_t>((block == 2 ? 1 : 10) * (rank + block % 2));
  };
  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    for (int block = 0; block < 5; ++block) {
      move_by(harness, static_cast<float>(worker.rank() + 1));
      harness.strategy->synchronise(worker, *harness.replica, samples(block, worker.rank()));
    }
  });
  double w = 0, start = 0, delta = 0;  // of parameter 0
  for (int block = 0; block < 5; ++block) {
    double total = 0, mean = 0;
    for (int rank = 0; rank < workers; ++rank) total += static_cast<double>(samples(block, rank));
    for (int rank = 0; rank < workers; ++rank) mean += static_cast<double>(samples(block, rank)) / total * (rank + 1);
    const double eta = std::exp(-total / workers / 40), zeta = 0.9 * (form == "cntk" ? workers * (1 - eta) : 1);
    delta = eta * delta + zeta * mean;  // G: from `start`, which moved by the mean
    w = kind == "nbm_cntk" ? start + delta : w + delta;
    start = w + (kind == "cbm" ? 0 : eta * delta);
  }
  for (const auto& p : parameters) {
    CHECK(p == parameters[0]);
    CHECK(p[0] == Approx(start).epsilon(1e-5));
  }
}

TEST_CASE("what block momentum holds at the end is what idle blocks would still bring", "[strategies]") {
  core::Settings options;
  options["bmuf-kind"] = GENERATE("cbm", "nbm", "nbm_cntk");
  options["block-momentum"] = 0.75;
  options["collective"] = GENERATE("ring", "butterfly");
  const int blocks = 6;
  after(2, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
    const auto model = [&] {
      harness.strategy->show_model(worker, *harness.replica);
      const float shown = harness.parameters[0];
      harness.strategy->resume_work(worker, *harness.replica);
      return shown;
    };
    for (int block = 0; block < blocks; ++block) {
      move_by(harness, 1);
      harness.strategy->synchronise(worker, *harness.replica, 10);
    }
    const auto numbers = harness.strategy->report(worker).numbers;
    const float delivered = model();
    for (int block = 0; block < 60; ++block) harness.strategy->synchronise(worker, *harness.replica, 10);
    const float all = model();
    CHECK(numbers.at(0).first == "pending_updates");
    CHECK(numbers.at(0).second == Approx(blocks * (1 - delivered / all)).epsilon(1e-4));
    CHECK(numbers.at(1).second == Approx(1 - delivered / all).epsilon(1e-4));
    double norm = 0;  // of the model before: parameter i is i + delivered
    for (std::size_t i = 0; i < length; ++i) norm += std::pow(static_cast<double>(i) + delivered, 2);
    CHECK(numbers.at(2).second == Approx((all - delivered) * std::sqrt(length / norm)).epsilon(1e-4));
  });
}

TEST_CASE("bmuf explains what momentum and learning rate amount to, as published tables have it", "[strategies]") {
  struct Row {
    int workers;
    double eta, gain, time_constant_in_blocks;  // C = ζ/(N(1-η)), -1/ln η
  };
  const Row row = GENERATE(Row{8, 0.9, 1.25, 9.49}, Row{8, 0.875, 1, 7.489}, Row{16, 0.94, 1.0417, 16.16},
                           Row{32, 0.97, 1.0417, 32.83}, Row{64, 0.986, 1.1161, 70.93});
  core::Settings options;
  options["block-momentum"] = row.eta;
  const strategies::Extent extent{row.workers, 64000. * row.workers, 64};  // 1000 samples per worker and block
  const auto numbers = strategies::make_strategy("bmuf", options)->explain(extent).numbers;
  const std::map<std::string, double> said(numbers.begin(), numbers.end());
  CHECK(said.at("block_gain") == Approx(row.gain).epsilon(1e-4));
  CHECK(said.at("block_momentum_time_constant") == Approx(1000 * row.time_constant_in_blocks).epsilon(1e-3));
  CHECK(said.at("wanted_samples") == Approx(1000 * row.time_constant_in_blocks * row.workers).epsilon(1e-3));

  options["bmuf-kind"] = "nbm_cntk";
  CHECK(strategies::make_strategy("bmuf", options)->explain(extent).numbers.at(2).second ==
        Approx((1 + row.eta) * row.gain).epsilon(1e-4));
  options["block-learning-rate-form"] = "cntk";  // then the gain is what was given
  options["bmuf-kind"] = "nbm";
  CHECK(strategies::make_strategy("bmuf", options)->explain(extent).numbers.at(2).second == Approx(1));
}

TEST_CASE("bmuf says by how much momentum from rest shortens what the minibatches of a local run contribute",
          "[strategies]") {
  const auto share_of = [](int steps, double momentum, bool reset, std::string_view optimiser) -> std::optional<double> {
    core::Settings options;
    options["reset-local-momentum"] = reset;
    strategies::Extent extent{8, 64000. * 8, 64};
    extent.local_steps = steps;
    extent.momentum = momentum;
    extent.optimiser = optimiser;
    const auto numbers = strategies::make_strategy("bmuf", options)->explain(extent).numbers;
    const std::map<std::string, double> said(numbers.begin(), numbers.end());
    const auto found = said.find("local_momentum_share");
    return found == said.end() ? std::nullopt : std::optional(found->second);
  };
  for (const bool nesterov : {false, true})
    for (const int steps : {1, 3, 5, 27}) {
      // A gradient of 1 at one minibatch of a local run, over what it moves in a run without end.
      double sum = 0;
      for (int at = 0; at < steps; ++at) {
        double velocity = 0, moved = 0;
        for (int step = 0; step < steps; ++step) {
          const double gradient = step == at ? 1 : 0;
          velocity = 0.9 * velocity + gradient;
          moved += nesterov ? gradient + 0.9 * velocity : velocity;
        }
        sum += moved / (1 / (1 - 0.9));
      }
      CHECK(share_of(steps, 0.9, true, nesterov ? "nesterov" : "momentum").value() == Approx(sum / steps));
    }
  CHECK(!share_of(5, 0.9, false, "momentum"));
  CHECK(!share_of(5, 0, true, "momentum"));
  CHECK(!share_of(5, 0.9, true, "adam"));
}

TEST_CASE("looking at the model in between changes nothing", "[strategies]") {
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  core::Settings options;
  options["bmuf-kind"] = kind;
  const auto train = [&](bool look) {
    return after(3, "bmuf", options, [&](comm::Worker& worker, StrategyHarness& harness) {
      for (int block = 0; block < 5; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          harness.parameters[i] += 0.1f * std::sin(static_cast<float>(i + 7 * worker.rank() + block));
        harness.strategy->synchronise(worker, *harness.replica, 5);
        if (!look) continue;
        harness.strategy->show_model(worker, *harness.replica);
        harness.strategy->resume_work(worker, *harness.replica);
      }
    });
  };
  REQUIRE(train(true) == train(false));
}

TEST_CASE("bmuf without block momentum and with block learning rate 1 is model averaging", "[strategies]") {
  const int workers = GENERATE(1, 2, 3, 8);
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  core::Settings options;
  options["bmuf-kind"] = kind;
  options["block-momentum"] = 0;
  const auto train = [&](const std::string& strategy) {
    return after(workers, strategy, used_by(strategy, options), [&](comm::Worker& worker, StrategyHarness& harness) {
      for (int block = 0; block < 4; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          harness.parameters[i] +=
              std::cos(static_cast<float>(3 * i + static_cast<std::size_t>(worker.rank())) + static_cast<float>(block));
        harness.strategy->synchronise(worker, *harness.replica, static_cast<std::size_t>(worker.rank() + 1));
      }
    });
  };
  const auto bmuf = train("bmuf"), averaging = train("model_averaging");
  for (std::size_t k = 0; k < bmuf.size(); ++k)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(bmuf[k][i] == Approx(averaging[k][i]).epsilon(1e-5));
}

TEST_CASE("the block filter costs each worker its share of the state", "[strategies]") {
  // Ring: W and Δ together are 2/N of a model per worker. Seen through what the device counts when the filter starts.
  const int workers = 4;
  sim::run(workers, [&](comm::Worker& worker) {
    const auto before = worker.device().meter().of(backend::KernelKind::streaming).bytes;
    StrategyHarness harness(worker, "bmuf", {});
    const auto copied = worker.device().meter().of(backend::KernelKind::streaming).bytes - before;
    CHECK(copied <= 2 * sizeof(float) * (length / workers + 1));
  });
}
