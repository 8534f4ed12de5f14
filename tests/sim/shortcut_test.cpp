// Collectives that are worked out at once have the times of those that are simulated message by message.
#include <algorithm>

#include "backend/kernels/fill.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/operation_programs.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "sanitized.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

/// A training in small: some rounds of computing for random times and an allreduce, or another operation.
struct Case {
  Platform platform;
  std::string algorithm;
  int workers = 2;
  std::size_t length = 1;
  std::size_t spread_floats = 0;  // computing takes 4 ns for each of up to so many floats
  int rounds = 2;
  comm::Operation operation = comm::Operation::allreduce;
};

Course run_case(const Case& c, bool shortcuts, std::uint64_t* taken = nullptr, std::uint64_t* left_out = nullptr) {
  Course outcome;
  outcome.ends.resize(static_cast<std::size_t>(c.workers));
  outcome.traffic.resize(outcome.ends.size());
  SimulationOptions options;
  options.device = "meta";
  options.shortcuts = shortcuts;
  const auto collective = comm::testing::in_equal_parts({c.operation, c.algorithm});
  const Report report = run(c.platform, c.workers, options, [&](comm::Worker& worker) {
    const core::RandomStream random(11, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
    core::Arena data = worker.device().allocate(c.length);
    for (int round = 0; round < c.rounds; ++round) {
      const std::size_t floats =
          c.spread_floats == 0 ? 25'000 : random.below(c.spread_floats, static_cast<std::uint64_t>(round));
      core::Arena load = worker.device().allocate(floats + 1);
      worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{0, load.span()}); });
      collective(worker.comm(), data.span());
    }
    outcome.ends[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
    outcome.traffic[static_cast<std::size_t>(worker.rank())] = worker.comm().traffic();
  });
  outcome.messages = report.messages;
  outcome.bytes = report.bytes;
  outcome.busiest_link = report.busiest_link;
  outcome.busiest_share = report.busiest_share;
  if (taken != nullptr) *taken = report.shortcuts;
  if (left_out != nullptr) *left_out = report.left_out;
  return outcome;
}

constexpr double launch_s = 1e-6;

/// Of every kind that shortcuts may meet: uncontended, shared NICs, sockets, leaf switches, overheads and handshakes.
Platform some_platform(int kind, int workers) {
  Platform platform = timed(uncontended(workers, {2e-6, 4e9}), launch_s);
  if (kind == 1) platform = timed(platform_of((workers + 3) / 4, 4, {1e-6, 9e9}, {3e-6, 5e9}), launch_s);
  if (kind == 2) {
    platform.message.send_overhead_s = 3e-7;
    platform.message.receive_overhead_s = 5e-7;
    platform.message.handshake = true;
    platform.message.copy_bytes_per_s = 8e9;
    platform.message.gap_s = 1e-7;
  }
  if (kind == 3) {
    platform = timed(platform_of((workers + 3) / 4, 4, {1e-6, 9e9}, {3e-6, 5e9}), launch_s);
    platform.sockets_per_node = 2;
    static_cast<Link&>(platform.node) = {2e-6, 7e9};
    platform.node.shared_bytes_per_s = 7e9;
    platform.nodes_per_leaf = 2;
    platform.core_latency_s = 5e-6;
    platform.taper = 2;
  }
  return platform;
}

}  // namespace

TEST_CASE("an allreduce that is worked out at once takes the times of the simulated one, to the picosecond", "[sim]") {
  const int kind = GENERATE(0, 1, 2, 3);
  const int workers = GENERATE(2, 3, 8, 12, 33);
  const std::size_t length = GENERATE(1u, 1000u, 40'000u, 700'001u);
  const std::size_t spread = GENERATE(0u, 3000u, 200'000u);
  if (sanitized && (workers > 8 || length > 1000)) return;
  for (const std::string& algorithm : comm::testing::own_algorithms()) {
    CAPTURE(kind, workers, length, spread, algorithm);
    const Case c{some_platform(kind, workers), algorithm, workers, length, spread};
    REQUIRE(run_case(c, true) == run_case(c, false));
  }
}

TEST_CASE("so does every other operation", "[sim]") {
  const int kind = GENERATE(0, 1, 2, 3);
  const int workers = GENERATE(2, 3, 8, 12, 33);
  const std::size_t length = GENERATE(1u, 1000u, 700'001u);
  const std::size_t spread = GENERATE(0u, 3000u, 200'000u);
  if (sanitized && (workers > 8 || length > 1000)) return;
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(kind, workers, length, spread, served.name());
    const Case c{some_platform(kind, workers), served.algorithm, workers, length, spread, 2, served.operation};
    std::uint64_t taken = 0;
    REQUIRE(run_case(c, true, &taken) == run_case(c, false));
    // Where nobody is in anybody's way: in `direct` several messages reach a worker at once, and in a broadcast a worker may
    // be done before others have begun.
    const bool together = served.operation != comm::Operation::broadcast && served.algorithm != "direct";
    if (kind == 0 && spread == 0 && together && length > 1000) CHECK(taken == 2);
  }
}

TEST_CASE("a computation within a collective is worked out at once unless there is noise", "[sim]") {
  const bool noise = GENERATE(false, true);
  Platform platform = some_platform(0, 8);
  if (noise) platform.noise = {1, 0.1, 0.1};
  const Case c{platform, "bruck", 8, 8'000'000, 0, 2, comm::Operation::all_to_all};  // copies of more than 4 ms
  std::uint64_t taken = 0;
  CHECK(run_case(c, true, &taken) == run_case(c, false));
  CHECK(taken == (noise ? 0 : 2));
}

TEST_CASE("what the large runs are made of is worked out at once: one device per node, or one node", "[sim]") {
  const int workers = GENERATE(16, 37, 64);
  const std::size_t length = GENERATE(50'000u, 700'001u);
  const bool one_node = GENERATE(false, true);
  const std::string algorithm = GENERATE("ring", "halving_doubling", "butterfly", "hierarchical:tree+ring");
  // Who folds is back long before its partner.
  const bool folds = (workers & (workers - 1)) != 0 && algorithm != "ring" && algorithm.find("hierarchical") != 0;
  if (folds || (one_node && algorithm.find("hierarchical") == 0)) return;
  CAPTURE(workers, length, one_node, algorithm);
  const Platform platform = timed(one_node ? platform_of(1, workers, {2e-6, 4e9}, {}) : uncontended(workers, {2e-6, 4e9}));
  const Case c{platform, algorithm, workers, length, 0, 3};
  std::uint64_t taken = 0;
  const Course at_once = run_case(c, true, &taken);
  CHECK(at_once == run_case(c, false));
  CHECK(taken == 3);
}

TEST_CASE("256 workers, some of them late: at once and message by message", "[sim]") {
  const int workers = sanitized ? 64 : 256;
  const std::string algorithm = GENERATE("ring", "halving_doubling", "butterfly", "tree", "double_tree", "hierarchical");
  const int kind = GENERATE(0, 1);
  const std::size_t spread = GENERATE(0u, 50'000u);
  CAPTURE(algorithm, kind, spread);
  const Case c{some_platform(kind, workers), algorithm, workers, 150'001, spread, 1};
  CHECK(run_case(c, true) == run_case(c, false));
}

TEST_CASE("long exchanges of two workers are not gone through to the end, and take the same times", "[sim]") {
  const int kind = GENERATE(0, 1, 2, 3);
  const int workers = GENERATE(2, 8, 12);
  const std::size_t length = GENERATE(9'000'001u, 26'214'400u);  // the second one: halves of whole segments
  const std::size_t spread = GENERATE(0u, 200'000u);
  CAPTURE(kind, workers, length, spread);
  const Case c{some_platform(kind, workers), "halving_doubling", workers, length, spread};
  std::uint64_t taken = 0, left_out = 0;
  const Course at_once = run_case(c, true, &taken, &left_out);
  CHECK(at_once == run_case(c, false));
  if (taken > 0 && kind == 0) CHECK(left_out > 0);
  if (workers == 8 && kind == 0) CHECK(taken > 0);
}

namespace {

/// A platform of any values within reason.
Platform drawn_platform(const core::RandomStream& random, int workers) {
  std::uint64_t draws = 0;
  const auto below = [&](std::uint32_t n) { return random.below(n, draws++); };
  const auto between = [&](double low, double high) { return low + (high - low) * below(1000) / 1000; };
  const auto link = [&] { return Link{between(1e-7, 1e-5), between(1e8, 2e10)}; };
  const int per_node = 1 + static_cast<int>(below(5));
  Platform platform = timed(platform_of((workers + per_node - 1) / per_node, per_node, link(), link()), launch_s);
  if (below(2) == 0) platform.sockets_per_node = 1 + static_cast<int>(below(2));
  static_cast<Link&>(platform.node) = link();
  if (below(2) == 0) platform.node.shared_bytes_per_s = between(1e8, 2e10);
  if (below(2) == 0) {
    platform.nodes_per_leaf = 1 + static_cast<int>(below(3));
    platform.core_latency_s = between(1e-6, 1e-5);
    platform.taper = between(1, 4);
  }
  if (below(2) == 0) platform.message.send_overhead_s = between(0, 1e-6);
  if (below(2) == 0) platform.message.receive_overhead_s = between(0, 1e-6);
  if (below(2) == 0) platform.message.gap_s = between(0, 1e-6);
  if (below(2) == 0) platform.message.copy_bytes_per_s = between(1e9, 1e10);
  if (below(2) == 0) platform.leaf.nics_per_node = 1 + static_cast<int>(below(2));
  if (below(4) == 0) platform.spine_bytes_per_s = between(1e9, 2e10);
  if (below(4) == 0) {
    platform.host.staged = true;
    platform.host.bytes_per_s = between(1e9, 2e10);
  }
  if (below(4) == 0) platform.size_classes = {{0, between(0.5, 2), 1}, {20'000, between(0.5, 2), between(0.5, 1)}};
  if (below(4) == 0) platform.noise = {1, between(0, 0.1), between(0, 0.1)};
  if (below(2) == 0) platform.reduction = {{1000 + below(100'000), 2 + below(5)}, below(2) == 0};
  platform.message.handshake = below(2) == 0;
  platform.message.eager_bytes = std::vector<std::int64_t>{0, 1000, 8192, 300'000}[below(4)];
  return platform;
}

}  // namespace

TEST_CASE("on platforms drawn at random, too, the times are those of the simulated one", "[sim]") {
  const auto algorithms = comm::testing::own_algorithms();
  std::uint64_t taken_in_all = 0, left_out_in_all = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const core::RandomStream random(seed, core::Purpose::generator, 77);
    const int workers = 2 + static_cast<int>(random.below(15, 1000));
    const std::string algorithm = random.below(2, 1001) == 0
                                      ? "halving_doubling"
                                      : algorithms[random.below(static_cast<std::uint32_t>(algorithms.size()), 1002)];
    const std::size_t length = 1 + random.below(std::vector{2000u, 200'000u, 4'000'000u}[random.below(3, 1003)], 1004);
    const std::size_t spread = random.below(3, 1005) == 0 ? 100'000 : 0;
    CAPTURE(seed, workers, algorithm, length, spread);
    const Case c{drawn_platform(random, workers), algorithm, workers, length, spread};
    std::uint64_t taken = 0, left_out = 0;
    REQUIRE(run_case(c, true, &taken, &left_out) == run_case(c, false));
    taken_in_all += taken;
    left_out_in_all += left_out;
    REQUIRE(left_out < 1'000'000);  // of a collective of at most 16 workers
  }
  CHECK(taken_in_all > 50);
  CHECK(left_out_in_all > 0);
}

namespace {

/// Workers that are in collectives, talk to each other in between, sum a few numbers, or do something else altogether.
std::vector<Time> run_mixed(int workers, std::uint32_t seed, bool shortcuts, std::uint64_t& taken) {
  Platform platform = some_platform(static_cast<int>(seed % 4), workers);
  std::vector<Time> ends(static_cast<std::size_t>(workers));
  SimulationOptions options;
  options.device = "meta";
  options.shortcuts = shortcuts;
  const core::RandomStream plan(seed, core::Purpose::generator);
  const auto allreduce = comm::make_allreduce(std::vector{"ring", "halving_doubling", "butterfly"}[seed % 3]);
  taken =
      run(platform, workers, options, [&](comm::Worker& worker) {
        const auto rank = static_cast<std::uint32_t>(worker.rank());
        const core::RandomStream mine(seed, core::Purpose::generator, 1 + rank);
        core::Arena data = worker.device().allocate(200'000), load = worker.device().allocate(20'000);
        for (std::uint64_t step = 0; step < 6; ++step) {
          worker.run_kernels([&](backend::KernelQueue& queue) {
            queue.run(backend::Fill{0, load.span().first(mine.below(20'000, step))});
          });
          const std::size_t length = 1 + plan.below(200'000, 100 + step);
          const auto kind = plan.below(6, step);
          if (kind == 0) {
            double one = 1;
            comm::sum_in_rank_order(worker.comm(), {&one, 1});
          } else if (kind == 1) {  // neighbours talk
            const auto peer = worker.rank() ^ 1;
            if (peer < worker.size()) {
              const auto receive = worker.comm().start_receive(peer, 3, data.span().first(length));
              worker.comm().send(peer, 3, std::span<const float>(data.span().last(length)));
              worker.comm().wait(receive);
            }
          } else if (kind == 2) {  // the two halves, apart
            allreduce->reduce_scatter(worker.comm(), data.span().first(length));
            worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{0, load.span().first(rank)}); });
            allreduce->all_gather(worker.comm(), data.span().first(length));
          } else if (kind == 3) {
            comm::Broadcast("scatter_all_gather")(worker.comm(), data.span().first(length));
          }
          (*allreduce)(worker.comm(), data.span().first(length));
        }
        if (seed % 5 == 0) {
          worker.launch([&](comm::Communicator& comm) { (*allreduce)(comm, data.span()); });
          worker.join();
          (*allreduce)(worker.comm(), data.span());
        }
        ends[rank] = simulated_time(worker);
      }).shortcuts;
  return ends;
}

}  // namespace

TEST_CASE("other traffic between and beside allreduces never changes what working them out at once gives", "[sim]") {
  std::uint64_t taken_in_all = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const int workers = 2 + static_cast<int>(seed % 9);
    std::uint64_t taken = 0, none = 0;
    const auto at_once = run_mixed(workers, seed, true, taken);
    CAPTURE(seed, workers, taken);
    REQUIRE(at_once == run_mixed(workers, seed, false, none));
    CHECK(none == 0);
    taken_in_all += taken;
  }
  CHECK(taken_in_all > 60);
}

TEST_CASE("a worker that does not come to an allreduce leaves the others in the deadlock that they would have had",
          "[sim]") {
  const auto told = [](bool shortcuts) -> std::string {
    SimulationOptions options;
    options.device = "meta";
    options.shortcuts = shortcuts;
    try {
      run(free_platform(4), 4, options, [&](comm::Worker& worker) {
        core::Arena data = worker.device().allocate(1'000'000);
        if (worker.rank() != 2) (*comm::make_allreduce("ring"))(worker.comm(), data.span());
      });
    } catch (const Deadlock& deadlock) {
      return deadlock.what();
    }
    return "";
  };
  CHECK(told(true) == told(false));
  CHECK_THAT(told(true), contains_text("worker 3 waits for"));
}

TEST_CASE("a collective that does not exist among emulated workers is refused as ever", "[sim]") {
  SimulationOptions options;
  options.device = "meta";
  CHECK_THROWS_AS(run(free_platform(2), 2, options,
                      [&](comm::Worker& worker) {
                        core::Arena data = worker.device().allocate(10);
                        (*comm::make_allreduce("native"))(worker.comm(), data.span());
                      }),
                  core::ConfigError);
}
