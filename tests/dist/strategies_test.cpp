#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "dist/strategy.hpp"
#include "sim/simulation.hpp"

using namespace paragrad;

namespace {

constexpr std::size_t length = 37;  // no multiple of any number of workers

/// What one emulated worker needs to take part in a strategy: no model, the tests move the parameters themselves.
struct Seat {
  std::vector<float> parameters = std::vector<float>(length);
  std::vector<core::Matrix> layout{{0, {length, 1}}};
  std::vector<core::Range> stages{{20, length}, {3, 20}, {0, 3}};
  std::unique_ptr<optim::LocalOptimiser> optimiser;
  std::unique_ptr<dist::Strategy> strategy;
  std::unique_ptr<dist::Replica> replica;

  Seat(comm::Worker& worker, const std::string& name, const dist::StrategyOptions& options,
       const optim::OptimiserOptions& rule = {}, float start = 0) {
    strategy = dist::make_strategy(name, options);
    optimiser = optim::make_optimiser(rule, worker.device(), layout, strategy->exchanges_gradients(worker.size()));
    std::iota(parameters.begin(), parameters.end(), start);
    replica.reset(new dist::Replica{parameters, layout, stages, *optimiser, {.momentum = 0.5f}});
    strategy->start(worker, *replica);
  }

  std::span<float> velocity() {
    core::State state;
    optimiser->describe_state(state);
    return state.arrays.at(0).values;
  }
};

/// The parameters of all workers after `body(worker, seat)`.
std::vector<std::vector<float>> after(int workers, const std::string& name, const dist::StrategyOptions& options,
                                      const std::function<void(comm::Worker&, Seat&)>& body,
                                      const optim::OptimiserOptions& rule = {}) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(workers));
  sim::run(workers, [&](comm::Worker& worker) {
    Seat seat(worker, name, options, rule);
    body(worker, seat);
    parameters[static_cast<std::size_t>(worker.rank())] = seat.parameters;
  });
  return parameters;
}

void move_by(Seat& seat, float amount) {
  for (float& p : seat.parameters) p += amount;
}

}  // namespace

TEST_CASE("an update of one block adds up to zeta/(1-eta) of itself, in CNTK's form to (1+eta) times that", "[dist]") {
  const int workers = GENERATE(1, 3, 4);
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  const double eta = 0.75, zeta = 0.5;
  dist::StrategyOptions options;
  options.bmuf_kind = kind;
  options.block_momentum = eta;
  options.block_learning_rate = zeta;
  options.collective = collective;

  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
    move_by(seat, 1);  // G = 1 in the first block, and nothing happens after it
    for (int block = 0; block < 60; ++block) seat.strategy->synchronise(worker, *seat.replica, 10);
    seat.strategy->show_model(worker, *seat.replica);
  });

  const double total = zeta / (1 - eta) * (kind == "nbm_cntk" ? 1 + eta : 1);
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i)
      REQUIRE(p[i] - static_cast<float>(i) == Approx(total).margin(1e-3));  // the mean of N equal models is rounded
}

TEST_CASE("a block's first effect is zeta G for cbm, (1+eta) zeta G at nbm's starting point and zeta G in its model",
          "[dist]") {
  dist::StrategyOptions options;
  options.block_momentum = 0.75;
  options.block_learning_rate = 0.5;
  const auto step = [&](const std::string& kind, bool shown) {
    options.bmuf_kind = kind;
    const auto parameters = after(2, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
      move_by(seat, 1);
      seat.strategy->synchronise(worker, *seat.replica, 10);
      if (shown) seat.strategy->show_model(worker, *seat.replica);
    });
    return parameters[1][0];
  };
  CHECK(step("cbm", false) == Approx(0.5));
  CHECK(step("nbm", false) == Approx(0.5 * 1.75));
  CHECK(step("nbm", true) == Approx(0.5));
  CHECK(step("nbm_cntk", false) == Approx(0.5 * 1.75));
  CHECK(step("nbm_cntk", true) == Approx(0.5 * 1.75));
}

TEST_CASE("in CNTK's form the block learning rate is what the sum of the workers' updates weighs in the end", "[dist]") {
  const int workers = GENERATE(1, 3);
  dist::StrategyOptions options;
  options.bmuf_kind = GENERATE("cbm", "nbm");
  options.block_momentum = GENERATE(0., 0.5, 0.8);
  options.block_learning_rate = 0.7;
  options.block_learning_rate_form = "cntk";
  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
    move_by(seat, 1);
    for (int block = 0; block < 80; ++block) seat.strategy->synchronise(worker, *seat.replica, 10);
  });
  CHECK(parameters[0][0] == Approx(0.7 * workers).margin(1e-4));
}

TEST_CASE("block momentum as a time constant is e^(-B/T), B being all samples of a block over the workers", "[dist]") {
  const int workers = 3;
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  const std::string form = GENERATE("paper", "cntk");
  dist::StrategyOptions options;
  options.bmuf_kind = kind;
  options.block_momentum_time_constant = 40;
  options.block_learning_rate = 0.9;
  options.block_learning_rate_form = form;
  const auto samples = [](int block, int rank) {
    return static_cast<std::size_t>((block == 2 ? 1 : 10) * (rank + block % 2));
  };
  const auto parameters = after(workers, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
    for (int block = 0; block < 5; ++block) {
      move_by(seat, static_cast<float>(worker.rank() + 1));
      seat.strategy->synchronise(worker, *seat.replica, samples(block, worker.rank()));
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

TEST_CASE("what block momentum holds at the end is what idle blocks would still bring", "[dist]") {
  dist::StrategyOptions options;
  options.bmuf_kind = GENERATE("cbm", "nbm", "nbm_cntk");
  options.block_momentum = 0.75;
  options.collective = GENERATE("ring", "butterfly");
  const int blocks = 6;
  after(2, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
    const auto model = [&] {
      seat.strategy->show_model(worker, *seat.replica);
      const float shown = seat.parameters[0];
      seat.strategy->resume_work(worker, *seat.replica);
      return shown;
    };
    for (int block = 0; block < blocks; ++block) {
      move_by(seat, 1);
      seat.strategy->synchronise(worker, *seat.replica, 10);
    }
    const auto numbers = seat.strategy->report(worker).numbers;
    const float delivered = model();
    for (int block = 0; block < 60; ++block) seat.strategy->synchronise(worker, *seat.replica, 10);
    const float all = model();
    CHECK(numbers.at(0).first == "pending_updates");
    CHECK(numbers.at(0).second == Approx(blocks * (1 - delivered / all)).epsilon(1e-4));
    CHECK(numbers.at(1).second == Approx(1 - delivered / all).epsilon(1e-4));
    double norm = 0;  // of the model before: parameter i is i + delivered
    for (std::size_t i = 0; i < length; ++i) norm += std::pow(static_cast<double>(i) + delivered, 2);
    CHECK(numbers.at(2).second == Approx((all - delivered) * std::sqrt(length / norm)).epsilon(1e-4));
  });
}

TEST_CASE("bmuf explains what momentum and learning rate amount to, as published tables have it", "[dist]") {
  struct Row {
    int workers;
    double eta, gain, time_constant_in_blocks;  // C = ζ/(N(1-η)), -1/ln η
  };
  const Row row = GENERATE(Row{8, 0.9, 1.25, 9.49}, Row{8, 0.875, 1, 7.489}, Row{16, 0.94, 1.0417, 16.16},
                           Row{32, 0.97, 1.0417, 32.83}, Row{64, 0.986, 1.1161, 70.93});
  dist::StrategyOptions options;
  options.block_momentum = row.eta;
  const dist::Extent extent{row.workers, 64000. * row.workers, 64};  // 1000 samples per worker and block
  const auto numbers = dist::make_strategy("bmuf", options)->explain(extent).numbers;
  const std::map<std::string, double> said(numbers.begin(), numbers.end());
  CHECK(said.at("block_gain") == Approx(row.gain).epsilon(1e-4));
  CHECK(said.at("block_momentum_time_constant") == Approx(1000 * row.time_constant_in_blocks).epsilon(1e-3));
  CHECK(said.at("wanted_samples") == Approx(1000 * row.time_constant_in_blocks * row.workers).epsilon(1e-3));

  options.bmuf_kind = "nbm_cntk";
  CHECK(dist::make_strategy("bmuf", options)->explain(extent).numbers.at(2).second ==
        Approx((1 + row.eta) * row.gain).epsilon(1e-4));
  options.block_learning_rate_form = "cntk";  // then the gain is what was given
  options.bmuf_kind = "nbm";
  CHECK(dist::make_strategy("bmuf", options)->explain(extent).numbers.at(2).second == Approx(1));
}

TEST_CASE("looking at the model in between changes nothing", "[dist]") {
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  dist::StrategyOptions options;
  options.bmuf_kind = kind;
  const auto train = [&](bool look) {
    return after(3, "bmuf", options, [&](comm::Worker& worker, Seat& seat) {
      for (int block = 0; block < 5; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          seat.parameters[i] += 0.1f * std::sin(static_cast<float>(i + 7 * worker.rank() + block));
        seat.strategy->synchronise(worker, *seat.replica, 5);
        if (!look) continue;
        seat.strategy->show_model(worker, *seat.replica);
        seat.strategy->resume_work(worker, *seat.replica);
      }
    });
  };
  REQUIRE(train(true) == train(false));
}

TEST_CASE("bmuf without block momentum and with block learning rate 1 is model averaging", "[dist]") {
  const int workers = GENERATE(1, 2, 3, 8);
  const std::string kind = GENERATE("cbm", "nbm", "nbm_cntk");
  dist::StrategyOptions options;
  options.bmuf_kind = kind;
  options.block_momentum = 0;
  const auto train = [&](const std::string& strategy) {
    return after(workers, strategy, options, [&](comm::Worker& worker, Seat& seat) {
      for (int block = 0; block < 4; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          seat.parameters[i] +=
              std::cos(static_cast<float>(3 * i + static_cast<std::size_t>(worker.rank())) + static_cast<float>(block));
        seat.strategy->synchronise(worker, *seat.replica, static_cast<std::size_t>(worker.rank() + 1));
      }
    });
  };
  const auto bmuf = train("bmuf"), averaging = train("model_averaging");
  for (std::size_t k = 0; k < bmuf.size(); ++k)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(bmuf[k][i] == Approx(averaging[k][i]).epsilon(1e-5));
}

TEST_CASE("averages weigh workers by the samples they processed", "[dist]") {
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  dist::StrategyOptions options;
  options.collective = collective;
  const std::vector<std::size_t> samples{30, 0, 10};
  const auto parameters = after(3, "model_averaging", options, [&](comm::Worker& worker, Seat& seat) {
    move_by(seat, static_cast<float>(worker.rank() + 1));
    seat.strategy->synchronise(worker, *seat.replica, samples[static_cast<std::size_t>(worker.rank())]);
  });
  for (const auto& p : parameters) CHECK(p == parameters[0]);
  for (std::size_t i = 0; i < length; ++i)
    CHECK(parameters[0][i] == Approx(static_cast<double>(i) + (30 * 1 + 10 * 3) / 40.0));
}

TEST_CASE("a block in which nobody processed anything changes nothing", "[dist]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf", "slowmo", "diloco");
  const auto parameters = after(
      3, strategy, {}, [&](comm::Worker& worker, Seat& seat) { seat.strategy->synchronise(worker, *seat.replica, 0); });
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i) CHECK(p[i] == static_cast<float>(i));
}

TEST_CASE("a lone worker keeps its model and its momentum", "[dist]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf", "data_parallel", "sgd");
  after(1, strategy, {}, [&](comm::Worker& worker, Seat& seat) {
    move_by(seat, 0.3f);
    const auto before = seat.parameters;
    seat.velocity()[0] = 5;
    seat.strategy->synchronise(worker, *seat.replica, 10);
    CHECK(seat.parameters == before);
    CHECK_FALSE(seat.strategy->exchanges_gradients(1));
    CHECK(seat.velocity()[0] == 5);
  });
}

TEST_CASE("a synchronisation forgets the local momentum unless told not to", "[dist]") {
  const std::string strategy = GENERATE("model_averaging", "bmuf");
  const bool reset = GENERATE(true, false);
  dist::StrategyOptions options;
  options.reset_local_momentum = reset;
  after(2, strategy, options, [&](comm::Worker& worker, Seat& seat) {
    seat.velocity()[3] = 5;
    seat.strategy->synchronise(worker, *seat.replica, 10);
    CHECK(seat.velocity()[3] == (reset ? 0.f : 5.f));
  });
}

TEST_CASE("data-parallel workers all apply the sum of their gradients, in whatever buckets", "[dist]") {
  const int workers = GENERATE(2, 3, 4);
  const std::size_t bucket_bytes = GENERATE(0u, 1u, 20u, 4u * length, 1000u);
  const bool overlap = GENERATE(true, false);
  dist::StrategyOptions options;
  options.bucket_bytes = bucket_bytes;
  options.overlap = overlap;
  const auto parameters = after(workers, "data_parallel", options, [&](comm::Worker& worker, Seat& seat) {
    seat.replica->step = {.rate = 0.5f, .momentum = 0.5f};
    for (int step = 0; step < 2; ++step) {
      for (float& g : seat.optimiser->gradients()) g = static_cast<float>(worker.rank() + 1);
      for (const core::Range range : {core::Range{20, length}, core::Range{3, 20}, core::Range{0, 3}})
        seat.strategy->gradient_ready(worker, *seat.replica, range);
      seat.strategy->step(worker, *seat.replica);
    }
  });
  const float sum = static_cast<float>(workers * (workers + 1)) / 2;
  for (const auto& p : parameters)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(p[i] == static_cast<float>(i) - 0.5f * (1 + 1.5f) * sum);  // momentum
}

TEST_CASE("a step whose gradient was not announced whole is a broken contract", "[dist]") {
  CHECK_THROWS_AS(after(2, "data_parallel", {},
                        [](comm::Worker& worker, Seat& seat) {
                          seat.strategy->gradient_ready(worker, *seat.replica, {1, length});
                          seat.strategy->step(worker, *seat.replica);
                        }),
                  std::logic_error);
}

TEST_CASE("slowmo follows its formulas through changes of the learning rate", "[dist]") {
  const int workers = GENERATE(1, 3);
  dist::StrategyOptions options;
  options.collective = GENERATE("ring", "butterfly");
  options.slow_momentum = 0.6;
  options.slow_learning_rate = 0.8;
  const std::vector<double> rates{0.4, 0.4, 0.1, 0.1, 0.2};
  const auto parameters = after(workers, "slowmo", options, [&](comm::Worker& worker, Seat& seat) {
    for (std::size_t block = 0; block < rates.size(); ++block) {
      seat.replica->learning_rate = rates[block];
      move_by(seat, static_cast<float>(worker.rank() + 1) - static_cast<float>(block) / 2);
      seat.strategy->synchronise(worker, *seat.replica, static_cast<std::size_t>(worker.rank() + 1));
    }
  });
  double moved = 0;  // the mean update: ranks weigh rank + 1
  for (int rank = 0; rank < workers; ++rank) moved += 2. * (rank + 1) * (rank + 1) / (workers * (workers + 1));
  for (std::size_t i = 0; i < length; ++i) {
    double x = static_cast<double>(i), u = 0;
    for (std::size_t block = 0; block < rates.size(); ++block) {
      const double average = x + moved - static_cast<double>(block) / 2;
      u = 0.6 * u + (x - average) / rates[block];
      x -= 0.8 * rates[block] * u;
    }
    for (const auto& p : parameters) REQUIRE(p[i] == Approx(x).epsilon(1e-5));
  }
}

TEST_CASE("slowmo at a constant rate is bmuf with classical block momentum, bit for bit", "[dist]") {
  dist::StrategyOptions options;
  options.bmuf_kind = "cbm";
  options.block_momentum = options.slow_momentum = 0.7;
  options.block_learning_rate = options.slow_learning_rate = 0.9;
  const auto train = [&](const std::string& strategy) {
    return after(3, strategy, options, [&](comm::Worker& worker, Seat& seat) {
      seat.replica->learning_rate = 0.3;
      for (int block = 0; block < 4; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          seat.parameters[i] += std::cos(static_cast<float>(i) + static_cast<float>(worker.rank() + 3 * block));
        seat.strategy->synchronise(worker, *seat.replica, 5);
      }
    });
  };
  CHECK(train("slowmo") == train("bmuf"));
}

TEST_CASE("diloco sets out from the points of bmuf's nbm, and keeps the local momentum", "[dist]") {
  const int workers = GENERATE(1, 2, 3);
  dist::StrategyOptions options;
  options.collective = GENERATE("ring", "butterfly");
  options.bmuf_kind = "nbm";
  options.block_momentum = options.outer_momentum = 0.85;
  options.block_learning_rate = options.outer_learning_rate = 0.6;
  options.reset_local_momentum = GENERATE(false, true);
  const auto train = [&](const std::string& strategy) {
    return after(workers, strategy, options, [&](comm::Worker& worker, Seat& seat) {
      seat.velocity()[3] = 5;
      for (int block = 0; block < 6; ++block) {
        for (std::size_t i = 0; i < length; ++i)
          seat.parameters[i] += std::cos(static_cast<float>(i) + static_cast<float>(worker.rank() + 3 * block));
        seat.strategy->synchronise(worker, *seat.replica, static_cast<std::size_t>(worker.rank() + block % 2));
      }
      CHECK(seat.velocity()[3] == (strategy == "bmuf" && options.reset_local_momentum ? 0.f : 5.f));
    });
  };
  const auto diloco = train("diloco"), bmuf = train("bmuf");
  for (std::size_t k = 0; k < diloco.size(); ++k)
    for (std::size_t i = 0; i < length; ++i) REQUIRE(diloco[k][i] == Approx(bmuf[k][i]).epsilon(1e-5).margin(1e-5));
}

namespace {

/// A local step of the seat's optimiser at rate 0.01 with the gradient that `gradient(i)` says.
void local_step(comm::Worker& worker, Seat& seat, const std::function<double(std::size_t)>& gradient) {
  for (std::size_t i = 0; i < length; ++i) seat.optimiser->gradients()[i] = static_cast<float>(gradient(i));
  worker.run_kernels([&](backend::Device& device) {
    seat.optimiser->update(device, {0, length}, {.rate = 0.01f}, seat.parameters);
  });
}

double some_gradient(std::size_t i, int rank, int block, int step) {
  return std::sin(static_cast<double>(i) + 2.3 * rank + 0.7 * block + 0.31 * step) + 0.2;
}

}  // namespace

TEST_CASE("bmuf_adam filters moments as published", "[dist]") {
  // rho = eta rho + tau; m = [b^tau (b^(eta rho) - 1) m_global + (1 - b^tau b^(eta rho)) mean m_i]/(1 - b^tau); steps += eta
  // rho
  const int workers = GENERATE(2, 3);
  const std::vector<int> taus{3, 2, 4, 3};
  dist::StrategyOptions options;
  options.collective = GENERATE("ring", "butterfly");
  const auto parameters =
      after(workers, "bmuf_adam", options,
            [&](comm::Worker& worker, Seat& seat) {
              for (int block = 0; block < 4; ++block) {
                for (int step = 0; step < taus[static_cast<std::size_t>(block)]; ++step)
                  local_step(worker, seat, [&](std::size_t i) { return some_gradient(i, worker.rank(), block, step); });
                seat.strategy->synchronise(worker, *seat.replica, 8);
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

TEST_CASE("under bmuf_adam moments of a gradient that never changes stay those of one long run", "[dist]") {
  dist::StrategyOptions options;
  options.bmuf_kind = GENERATE("cbm", "nbm", "nbm_cntk");
  const bool timed = GENERATE(false, true);
  if (timed) options.block_momentum_time_constant = 20;
  options.block_learning_rate = GENERATE(1., 0.6);
  after(3, "bmuf_adam", options,
        [&](comm::Worker& worker, Seat& seat) {
          for (int block = 0; block < 5; ++block) {
            const int steps = (worker.rank() + block) % 3;  // unequal, and none here and there
            for (int step = 0; step < steps; ++step)
              local_step(worker, seat, [](std::size_t i) { return 1. + static_cast<double>(i); });
            seat.strategy->synchronise(worker, *seat.replica, static_cast<std::size_t>(4 * steps));
            const optim::Moments moments = seat.optimiser->moments().value();
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

TEST_CASE("bmuf_adam counts as many steps as the starting point has moved updates", "[dist]") {
  dist::StrategyOptions options;
  options.bmuf_kind = GENERATE("cbm", "nbm", "nbm_cntk");
  options.block_momentum_time_constant = 20;
  options.block_learning_rate = GENERATE(1., 0.6);
  const auto parameters = after(2, "bmuf_adam", options,
                                [&](comm::Worker& worker, Seat& seat) {
                                  for (std::size_t block = 0; block < 5; ++block) {
                                    *seat.optimiser->moments()->steps +=
                                        2;  // two steps, each of which moves all parameters by 1
                                    move_by(seat, 2);
                                    seat.strategy->synchronise(worker, *seat.replica, 3 + block);
                                    CHECK(seat.parameters[0] == Approx(*seat.optimiser->moments()->steps).epsilon(1e-5));
                                  }
                                },
                                {.name = "adamw"});
}

TEST_CASE("bmuf_adam of one worker without block momentum is its Adam", "[dist]") {
  const auto train = [&](const std::string& strategy) {
    return after(1, strategy, {},
                 [&](comm::Worker& worker, Seat& seat) {
                   for (int block = 0; block < 3; ++block) {
                     for (int step = 0; step < 2; ++step)
                       local_step(worker, seat, [&](std::size_t i) { return some_gradient(i, 0, block, step); });
                     seat.strategy->synchronise(worker, *seat.replica, 8);
                   }
                 },
                 {.name = "adam"});
  };
  CHECK(train("bmuf_adam") == train("sgd"));
}

TEST_CASE("post_local_sgd exchanges gradients until its local sweeps and averages models in them", "[dist]") {
  dist::StrategyOptions options;
  options.local_start_sweep = 3;
  const auto parameters = after(2, "post_local_sgd", options, [&](comm::Worker& worker, Seat& seat) {
    CHECK(seat.strategy->exchanges_gradients(2));
    CHECK_FALSE(seat.strategy->exchanges_gradients(1));
    for (int sweep = 1; sweep <= 4; ++sweep) {
      seat.strategy->begin_sweep(worker, *seat.replica, sweep);
      CHECK(seat.strategy->exchanges_gradients(2) == (sweep < 3));
      move_by(seat, static_cast<float>(worker.rank()));
      seat.strategy->synchronise(worker, *seat.replica, 10);
      CHECK(seat.parameters[0] == (sweep < 3 ? static_cast<float>(sweep * worker.rank()) : sweep == 3 ? 1.5f : 2.f));
    }
  });
  CHECK(parameters[0] == parameters[1]);
}

TEST_CASE("the block filter costs each worker its share of the state", "[dist]") {
  // Ring: W and Δ together are 2/N of a model per worker. Seen through what the device counts when the filter starts.
  const int workers = 4;
  sim::run(workers, [&](comm::Worker& worker) {
    const auto before = worker.device().meter().of(backend::KernelKind::streaming).bytes;
    Seat seat(worker, "bmuf", {});
    const auto copied = worker.device().meter().of(backend::KernelKind::streaming).bytes - before;
    CHECK(copied <= 2 * sizeof(float) * (length / workers + 1));
  });
}

TEST_CASE("strategies refuse what they cannot do, in one sentence", "[dist]") {
  CHECK_THROWS_WITH(dist::make_strategy("bmfu", {}), contains_text("unknown strategy 'bmfu'; known: sgd, data_parallel"));
  dist::StrategyOptions options;
  options.bmuf_kind = "nesterov";
  CHECK_THROWS_WITH(dist::make_strategy("bmuf", options), contains_text("unknown kind of bmuf 'nesterov'; known: cbm, nbm"));
  options = {};
  options.block_momentum = 1;
  CHECK_THROWS_WITH(dist::make_strategy("bmuf", options), contains_text("block momentum 1 is outside [0, 1)"));
  options = {};
  options.block_learning_rate = 0;
  CHECK_THROWS_AS(dist::make_strategy("bmuf", options), core::ConfigError);
  options = {};
  options.local_start_sweep = 0;
  CHECK_THROWS_WITH(dist::make_strategy("post_local_sgd", options), contains_text("the first local sweep cannot be 0"));
  options = {};
  options.block_momentum_time_constant = 100;
  CHECK_NOTHROW(dist::make_strategy("bmuf", options));
  options.block_momentum = 0.5;
  CHECK_THROWS_WITH(dist::make_strategy("bmuf", options), contains_text("either a block momentum or its time constant"));
  options = {};
  options.block_learning_rate_form = "fairseq";
  CHECK_THROWS_WITH(dist::make_strategy("bmuf", options), contains_text("'fairseq'; known: paper, cntk"));
  options = {};
  options.slow_momentum = 1;
  CHECK_THROWS_WITH(dist::make_strategy("slowmo", options), contains_text("slow momentum 1 is outside [0, 1)"));
  options.outer_learning_rate = 0;
  CHECK_THROWS_WITH(dist::make_strategy("diloco", options), contains_text("outer learning rate 0 must be above 0"));
  CHECK_THROWS_WITH(after(2, "bmuf_adam", {}, [](comm::Worker&, Seat&) {}),
                    contains_text("choose --optimiser adam or adamw"));
  CHECK_THROWS_WITH(after(2, "sgd", {}, [](comm::Worker&, Seat&) {}), contains_text("trains with one worker, not 2"));
}

TEST_CASE("no strategy relies on buffering or on the order of starting: the same weights and no deadlock", "[dist]") {
  const std::string name = GENERATE("data_parallel", "model_averaging", "bmuf", "slowmo", "diloco");
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  const int workers = GENERATE(2, 5);
  CAPTURE(name, collective, workers);
  dist::StrategyOptions options;
  options.collective = collective;
  const auto train = [&](std::int64_t eager_bytes, const sim::Options& world) {
    sim::Platform platform = sim::free_platform(workers);
    platform.message.eager_bytes = eager_bytes;
    std::vector<std::vector<float>> parameters(static_cast<std::size_t>(workers));
    sim::run(platform, workers, world, [&](comm::Worker& worker) {
      Seat seat(worker, name, options);
      const core::RandomStream random(3, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
      for (std::uint64_t block = 0; block < 3; ++block) {
        for (std::size_t i = 0; i < length; ++i) seat.parameters[i] += static_cast<float>(random.normal(block * length + i));
        seat.strategy->synchronise(worker, *seat.replica, 1 + static_cast<std::uint64_t>(worker.rank()));
      }
      seat.strategy->show_model(worker, *seat.replica);
      parameters[static_cast<std::size_t>(worker.rank())] = seat.parameters;
    });
    return parameters;
  };
  const auto buffered = train(std::numeric_limits<std::int64_t>::max(), {});
  CHECK(train(0, {}) == buffered);
  sim::Options shuffled;
  shuffled.start_order = 7;
  shuffled.host_threads = 3;
  CHECK(train(0, shuffled) == buffered);
}
