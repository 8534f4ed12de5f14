// bmuf_adam: Adam's moments after a block.
#include <cmath>

#include "catch.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

namespace {

/// A local step of the harness's optimiser at rate 0.01 with the gradient that `gradient(i)` says.
void local_step(comm::Worker& worker, StrategyHarness& harness, const std::function<double(std::size_t)>& gradient) {
  for (std::size_t i = 0; i < length; ++i) harness.optimiser->gradients()[i] = static_cast<float>(gradient(i));
  harness.optimiser->begin_step();
  worker.run_kernels([&](backend::KernelQueue& queue) {
    harness.optimiser->update(queue, {0, length}, {.rate = 0.01f}, harness.parameters);
  });
}

double some_gradient(std::size_t i, int rank, int block, int step) {
  return std::sin(static_cast<double>(i) + 2.3 * rank + 0.7 * block + 0.31 * step) + 0.2;
}

}  // namespace

TEST_CASE("bmuf_adam filters moments as published", "[strategies]") {
  // rho = eta rho + tau; m = [b^tau (b^(eta rho) - 1) m_global + (1 - b^tau b^(eta rho)) mean m_i]/(1 - b^tau); steps += eta
  // rho
  const int workers = GENERATE(2, 3);
  const std::vector<int> taus{3, 2, 4, 3};
  core::Settings options;
  options["collective"] = GENERATE("ring", "butterfly");
  const auto parameters =
      after(workers, "bmuf_adam", options,
            [&](comm::Worker& worker, StrategyHarness& harness) {
              for (int block = 0; block < 4; ++block) {
                for (int step = 0; step < taus[static_cast<std::size_t>(block)]; ++step)
                  local_step(worker, harness, [&](std::size_t i) { return some_gradient(i, worker.rank(), block, step); });
                harness.strategy->synchronise(worker, *harness.replica, 8);
              }
            },
            {.name = "adam"});

  const double eta = 1 - 1. / workers, b1 = 0.9, b2 = 0.999;
  for (std::size_t i = 0; i < length; ++i) {
    double w = static_cast<double>(i), start = w, delta = 0, m = 0, v = 0, t = 0, rho = 0;
    for (int block = 0; block < 4; ++block) {
      const double tau = taus[static_cast<std::size_t>(block)];
      double mean_w = 0, mean_m = 0, mean_v = 0;
      for (int rank = 0; rank < workers; ++rank) {
        double wi = start, mi = m, vi = v, ti = t;
        for (int step = 0; step < tau; ++step) {
          const double g = some_gradient(i, rank, block, step);
          ti += 1;
          mi = b1 * mi + (1 - b1) * g;
          vi = b2 * vi + (1 - b2) * g * g;
          wi -= 0.01 * mi / (1 - std::pow(b1, ti)) / (std::sqrt(vi / (1 - std::pow(b2, ti))) + 1e-8);
        }
        mean_w += wi / workers;
        mean_m += mi / workers;
        mean_v += vi / workers;
      }
      delta = eta * delta + mean_w - start;
      w += delta;
      start = w + eta * delta;
      rho = eta * rho + tau;
      const auto filtered = [&](double b, double old, double mean) {
        const double before = std::pow(b, tau), extra = std::pow(b, eta * rho);
        return (before * (extra - 1) * old + (1 - before * extra) * mean) / (1 - before);
      };
      m = filtered(b1, m, mean_m);
      v = filtered(b2, v, mean_v);
      t += tau + eta * rho;
    }
    for (const auto& p : parameters) REQUIRE(p[i] == Approx(start).margin(2e-5));
  }
}

TEST_CASE("under bmuf_adam moments of a gradient that never changes stay those of one long run", "[strategies]") {
  core::Settings options;
  options["bmuf-kind"] = GENERATE("cbm", "nbm", "nbm_cntk");
  const bool timed = GENERATE(false, true);
  if (timed) options["block-momentum-time-constant"] = 20;
  options["block-learning-rate"] = GENERATE(1., 0.6);
  after(3, "bmuf_adam", options,
        [&](comm::Worker& worker, StrategyHarness& harness) {
          for (int block = 0; block < 5; ++block) {
            const int steps = (worker.rank() + block) % 3;  // unequal, and none here and there
            for (int step = 0; step < steps; ++step)
              local_step(worker, harness, [](std::size_t i) { return 1. + static_cast<double>(i); });
            harness.strategy->synchronise(worker, *harness.replica, static_cast<std::size_t>(4 * steps));
            const optim::Moments moments = harness.optimiser->moments().value();
            CHECK(*moments.steps > 0);
            for (const std::size_t i : {std::size_t{0}, length - 1}) {
              const double g = 1. + static_cast<double>(i);
              CHECK(moments.first[i] == Approx((1 - std::pow(0.9, *moments.steps)) * g).epsilon(1e-4));
              CHECK(moments.second[i] == Approx((1 - std::pow(0.999, *moments.steps)) * g * g).epsilon(1e-3));
            }
          }
        },
        {.name = "adam"});
}

TEST_CASE("bmuf_adam counts as many steps as the starting point has moved updates", "[strategies]") {
  core::Settings options;
  options["bmuf-kind"] = GENERATE("cbm", "nbm", "nbm_cntk");
  options["block-momentum-time-constant"] = 20;
  options["block-learning-rate"] = GENERATE(1., 0.6);
  const auto parameters =
      after(2, "bmuf_adam", options,
            [&](comm::Worker& worker, StrategyHarness& harness) {
              for (std::size_t block = 0; block < 5; ++block) {
                *harness.optimiser->moments()->steps += 2;  // two steps, each of which moves all parameters by 1
                move_by(harness, 2);
                harness.strategy->synchronise(worker, *harness.replica, 3 + block);
                CHECK(harness.parameters[0] == Approx(*harness.optimiser->moments()->steps).epsilon(1e-5));
              }
            },
            {.name = "adamw"});
}

TEST_CASE("bmuf_adam of one worker without block momentum is its Adam", "[strategies]") {
  const auto train = [&](const std::string& strategy) {
    return after(1, strategy, {},
                 [&](comm::Worker& worker, StrategyHarness& harness) {
                   for (int block = 0; block < 3; ++block) {
                     for (int step = 0; step < 2; ++step)
                       local_step(worker, harness, [&](std::size_t i) { return some_gradient(i, 0, block, step); });
                     harness.strategy->synchronise(worker, *harness.replica, 8);
                   }
                 },
                 {.name = "adam"});
  };
  CHECK(train("bmuf_adam") == train("sgd"));
}
