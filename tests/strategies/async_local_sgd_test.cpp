// Asynchronous local SGD: the servers' steps, the workers' steps by their speeds, and grace periods.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "catch.hpp"
#include "tests/strategies/server_support.hpp"

using namespace paragrad;
using namespace paragrad::strategies;
using namespace paragrad::strategies::testing;

namespace {

/// async_local_sgd by its formulas, in the order in which a server took requests: of one parameter, which minibatches of
/// worker k move by -(k + 1).
class LocalReference {
 public:
  double x = 0;
  std::vector<double> own;

  LocalReference(std::string rule, std::size_t workers, std::size_t buffer, double period)
      : own(workers), rule_(std::move(rule)), base_(workers), steps_since_(workers), buffer_(buffer), period_(period) {}

  void take(const Event& event) {
    const auto k = static_cast<std::size_t>(event.worker);
    if (event.kind == Event::Kind::push) {
      own[k] -= period_ * static_cast<double>(k + 1);
      take_step(base_[k] - own[k], steps_ - steps_since_[k]);
    }
    if (event.kind == Event::Kind::fetch) {
      own[k] = base_[k] = x;
      steps_since_[k] = steps_;
    }
  }

 private:
  void take_step(double d, double staleness) {
    ++steps_;
    if (rule_ == "delayed") {
      const auto n = static_cast<double>(buffer_);
      x -= 0.5 * d / n;
      sum_ += d;
      if (++waiting_ < buffer_) return;
      v_ = 0.8 * v_ + sum_ / n;
      x -= 0.5 * 0.8 * v_;
      sum_ = 0, waiting_ = 0;
      return;
    }
    if (rule_ == "weighted") d /= std::sqrt(static_cast<double>(own.size()) * (1 + staleness));
    v_ = 0.8 * v_ + d;
    x -= 0.5 * (d + 0.8 * v_);
  }

  std::string rule_;
  std::vector<double> base_, steps_since_;
  std::size_t buffer_, waiting_ = 0;
  double period_, steps_ = 0, v_ = 0, sum_ = 0;
};

}  // namespace

TEST_CASE("servers take the published steps by displacements as they arrive", "[strategies]") {
  const std::string rule = GENERATE("nesterov", "weighted", "delayed");
  const std::size_t period = GENERATE(1u, 3u), buffer = rule == "delayed" ? GENERATE(0u, 1u, 3u) : 0u;
  const int servers = GENERATE(0, 1), workers = GENERATE(1, 2);
  CAPTURE(rule, period, buffer, servers, workers);
  ServerRun run;
  run.strategy = "async_local_sgd";
  run.workers = workers;
  run.options = {{"servers", servers},
                 {"push-every", period},
                 {"outer-step", rule},
                 {"outer-learning-rate", 0.5},
                 {"outer-momentum", 0.8}};
  if (rule == "delayed") run.options["outer-buffer"] = buffer;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    harness.strategy->begin_epoch(worker, *harness.replica, 1);
    for (std::size_t i = 0; i < 12; ++i) {
      if (worker.rank() == 1) compute(worker, i, 1), compute(worker, i, 2), compute(worker, i, 3);
      step(worker, harness, static_cast<float>(worker.rank() + 1));
    }
  });
  const std::size_t n = buffer > 0 ? buffer : static_cast<std::size_t>(workers);
  LocalReference reference(rule, static_cast<std::size_t>(workers), n, static_cast<double>(period));
  std::size_t pushes = 0;
  for (const Event& event : run.orders[0]) {
    reference.take(event);
    pushes += event.kind == Event::Kind::push;
  }
  CHECK(pushes == static_cast<std::size_t>(workers) * 12 / period);
  for (const auto& parameters : run.parameters) CHECK(parameters[0] == Approx(reference.x).epsilon(1e-5));
}

TEST_CASE("what a worker has not sent at the end of an epoch is sent there, and all go on from one model", "[strategies]") {
  ServerRun run;
  run.strategy = "async_local_sgd";
  run.workers = 2;
  run.options = {{"push-every", 5u}, {"outer-step", "delayed"}, {"outer-learning-rate", 1}, {"outer-momentum", 0}};
  std::vector<std::vector<float>> models(2);
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    for (int epoch = 1; epoch <= 2; ++epoch) {
      harness.strategy->begin_epoch(worker, *harness.replica, epoch);
      for (int i = 0; i < 3; ++i) step(worker, harness, 1);
      harness.strategy->show_model(worker, *harness.replica);
      harness.strategy->resume_work(worker, *harness.replica);
      models[static_cast<std::size_t>(worker.rank())].push_back(harness.parameters[4]);
    }
  });
  for (const auto& of_worker : models)
    CHECK(of_worker == std::vector<float>{4 - 3, 4 - 6});  // the means of -3 and -3, twice
}

TEST_CASE("with DyLU workers push after minibatches in proportion to their speeds, at least one", "[strategies]") {
  ServerRun run;
  run.strategy = "async_local_sgd";
  run.workers = 4;
  run.options = {{"push-every", 6u}, {"worker-speeds", "2,1.4,4,0.1"}};
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    harness.strategy->begin_epoch(worker, *harness.replica, 1);
    for (int i = 0; i < 12; ++i) step(worker, harness, 1);
  });
  std::map<int, int> pushes;
  for (const Event& event : run.orders[0]) pushes[event.worker] += event.kind == Event::Kind::push;
  CHECK(pushes == std::map<int, int>{{0, 12 / 3}, {1, 12 / 2}, {2, 12 / 6}, {3, 12}});

  const auto fails = [&](const char* speeds) {
    ServerRun other = run;
    other.options["worker-speeds"] = speeds;
    other.run([](comm::Worker&, StrategyHarness&) {});
  };
  for (const char* const wrong : {"2,1,3", "1,2,3,4,5", "1,2,3,0", "1,2,3,-1", "1,,2,3", "1,2,3,", "1,2,3,x", "1,2,3,inf"})
    CHECK_THROWS_AS(fails(wrong), core::OptionError);
}

TEST_CASE("a grace period keeps those that have pushed until all have, or until it is over", "[strategies]") {
  const int servers = GENERATE(0, 1);
  const bool is_long = GENERATE(true, false);
  const double grace_s = is_long ? 50 : 1e-4;
  ServerRun run;
  run.strategy = "async_local_sgd";
  run.workers = 3;
  run.options = {{"servers", servers}, {"push-every", 1u}, {"grace", grace_s}};
  bool slow_came_meanwhile = false;
  std::array<std::vector<double>, 3> waited_s;
  run.run([&](comm::Worker& worker, StrategyHarness& harness) {
    harness.strategy->begin_epoch(worker, *harness.replica, 1);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t k = 0; k < (worker.rank() == 2 ? 40u : 1u); ++k) compute(worker, 100 * i + k, 5);
      const double begin_s = worker.comm().now_s();
      step(worker, harness, 1);
      waited_s[static_cast<std::size_t>(worker.rank())].push_back(worker.comm().now_s() - begin_s);
    }
  });
  for (const auto& events : run.orders) {
    std::map<int, int> pushes{{0, 0}, {1, 0}, {2, 0}};
    for (const Event& event : events) {
      if (event.kind == Event::Kind::push) ++pushes[event.worker];
      if (event.kind == Event::Kind::meet) pushes.erase(event.worker);
      if (event.kind != Event::Kind::fetch) continue;
      if (is_long)
        for (const auto& [worker, count] : pushes) CHECK(count == pushes[event.worker]);
      slow_came_meanwhile |= event.worker < 2 && pushes.contains(2) && pushes[2] == pushes[event.worker];
    }
  }
  CHECK(slow_came_meanwhile == is_long);
  for (std::size_t i = 0; i < 6 && !is_long; ++i) {  // the first of the two waits to the end, the other for what is left
    const double longest = std::max(waited_s[0][i], waited_s[1][i]);
    CHECK(longest == Approx(grace_s).epsilon(0.1));
  }
}
