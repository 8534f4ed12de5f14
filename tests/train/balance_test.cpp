#include "train/balance.hpp"

#include <algorithm>

#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using Kind = sim::Platform::Fault::Kind;

namespace {

/// Nodes of one device each; worker 1's runs at a share of the speed of the others.
sim::Platform cluster(int workers, double slow) {
  sim::Platform platform = sim::free_platform(workers);
  platform.device = {1e10, 1e10, 1, 1, 1e-7};
  if (slow < 1) platform.faults = {{.at_s = 0, .kind = Kind::worker, .id = 1, .factor = slow}};
  return platform;
}

}  // namespace

TEST_CASE("workers that are equal but for rounding have equal shares", "[train]") {
  sim::run(2, [&](comm::Worker& worker) {
    train::Balance balance(2, true);
    const double seconds = worker.rank() == 0 ? 0.1 + 0.2 : 0.3;
    for (int block = 0; block < 3; ++block) {
      balance.measured(worker.comm(), 100, seconds);
      CHECK(balance.part_of(16, worker.rank(), true).size() == 8);
    }
  });
}

TEST_CASE("shares follow the speeds, and cover all", "[train]") {
  const std::vector<double> seconds{1, 2, 4, 1};
  std::vector<std::vector<core::Range>> parts(4);
  sim::run(4, [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    train::Balance balance(4, true);
    for (int block = 0; block < 30; ++block) balance.measured(worker.comm(), 100, seconds[rank]);
    for (const std::size_t length : {0u, 1u, 3u, 1100u}) parts[rank].push_back(balance.part_of(length, worker.rank(), true));
  });
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(parts[0][i].begin == 0);
    for (std::size_t k = 1; k < 4; ++k) CHECK(parts[k][i].begin == parts[k - 1][i].end);
  }
  CHECK(parts[3][3].end == 1100);
  const std::vector<std::size_t> expected{400, 200, 100, 400};
  for (std::size_t k = 0; k < 4; ++k) CHECK(parts[k][3].size() == Approx(static_cast<double>(expected[k])).margin(1));
}

TEST_CASE("who had no samples is believed to be as fast as before, and the others are measured among themselves",
          "[train]") {
  std::vector<std::size_t> sizes(3);
  sim::run(3, [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    train::Balance balance(3, true);
    balance.measured(worker.comm(), rank == 2 ? 0 : 100, rank == 1 ? 3 : 1);  // speeds 3/2, 1/2 and unknown
    sizes[rank] = balance.part_of(1200, worker.rank(), true).size();
  });
  CHECK(sizes == std::vector<std::size_t>{500, 300, 400});  // of (1 + 3/2)/2, (1 + 1/2)/2 and 1
}

TEST_CASE("a worker that was so slow that it got no samples is tried again", "[train]") {
  sim::run(2, [&](comm::Worker& worker) {
    train::Balance balance(2, true);
    const auto block = [&](double seconds) {
      const auto samples = static_cast<double>(balance.part_of(16, worker.rank(), true).size());
      balance.measured(worker.comm(), samples, worker.rank() == 0 ? samples * seconds : samples);
      return samples;
    };
    double samples = 8;
    for (int count = 0; count < 10; ++count) samples = std::min(samples, block(1e6));
    CHECK((worker.rank() == 1 || samples == 0));
    for (int count = 0; count < 40; ++count) samples = block(1);
    CHECK(samples >= 7);
  });
}

TEST_CASE("without balance parts are equal", "[train]") {
  const train::Balance balance(3, false);
  for (int rank = 0; rank < 3; ++rank)
    CHECK(balance.part_of(100, rank, true) == core::part_of(100, 3, static_cast<std::size_t>(rank)));
}

TEST_CASE("a slow worker costs less time with balance, and the training learns as much", "[train]") {
  test::SmallTask task(8000);
  task.options.strategy = GENERATE("data_parallel", "model_averaging", "bmuf");
  task.options.blocks = 20;
  task.options.minibatch = task.options.strategy == "data_parallel" ? 400 : 64;  // against the cost of an update
  const train::Result even = task.simulate(4, cluster(4, 1));
  const train::Result slow = task.simulate(4, cluster(4, 0.5));
  task.options.balance = true;
  const train::Result balanced = task.simulate(4, cluster(4, 0.5));
  INFO(task.options.strategy << ": " << even.training_s << " " << slow.training_s << " " << balanced.training_s);
  CHECK(slow.times.optimise_s + slow.times.aggregate_s > 1.8 * (even.times.optimise_s + even.times.aggregate_s));
  // 3.5 workers' worth of speed are left of 4: 4/3.5 of the time, and a bit for the blocks until that is known.
  CHECK(balanced.times.optimise_s + balanced.times.aggregate_s < 1.4 * (even.times.optimise_s + even.times.aggregate_s));
  CHECK(balanced.samples == slow.samples);
  CHECK(balanced.train.loss == Approx(slow.train.loss).epsilon(0.05));
}

TEST_CASE("balance on equal workers changes nothing but rounding", "[train]") {
  test::SmallTask task;
  task.options.strategy = "data_parallel";
  const train::Result plain = task.simulate(3, cluster(3, 1));
  task.options.balance = true;
  CHECK(task.simulate(3, cluster(3, 1)).train.loss == Approx(plain.train.loss).epsilon(1e-4));
}

TEST_CASE("workers without data take part until the end, with weight zero", "[train]") {
  test::SmallTask task(61);
  task.options.blocks = 10;    // splits of one or two samples
  task.options.minibatch = 2;  // where it is shared, for four workers
  const std::string compression = GENERATE("none", "bits:1");
  const bool buffered = GENERATE(false, true);
  task.options.balance = GENERATE(false, true);
  task.options.strategy = GENERATE("data_parallel", "model_averaging", "bmuf", "slowmo");
  test::give(task.options, "compression", compression);
  test::give(task.options, "buffered", buffered);
  const train::Result four = task.simulate(4, cluster(4, 0.01));  // with balance worker 1 is soon left without samples
  CHECK(four.samples == 2 * 61);
  if (task.options.strategy != "data_parallel" || compression != "none" || buffered) return;
  task.options.strategy = "sgd";
  task.options.strategy_settings.clear();
  task.options.splits = 4;
  CHECK(four.train.loss == Approx(task.simulate(1).train.loss).epsilon(1e-4));
}
