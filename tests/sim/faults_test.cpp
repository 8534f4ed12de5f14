// Noise and faults of a platform, and workers that share devices.
#include <algorithm>
#include <set>

#include "backend/kernels/fill.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "sim/compute/pace.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using Kind = Platform::Fault::Kind;

namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

// One worker per node, links of 1 GB/s; to fill a float takes a millisecond.
Platform slow_devices(int workers) {
  Platform platform = uncontended(workers, {1e-6, 1e9});
  platform.device = {1e12, 4e3, 1, 1, 0};
  return platform;
}

// When each worker ends that fills 100 floats ten times, which takes a second: half of it as computations with an announced
// bound on the host pool, half as small kernels.
std::vector<double> ends(const Platform& platform, int workers, const SimulationOptions& options = {}) {
  std::vector<double> at(static_cast<std::size_t>(workers));
  run(platform, workers, options, [&](comm::Worker& worker) {
    std::vector<float> data(100);
    for (int part = 0; part < 5; ++part) {
      worker.compute(streaming(400), [&] { worker.device().run(backend::Fill{1, data}); });
      worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{1, data}); });
    }
    at[static_cast<std::size_t>(worker.rank())] = worker.comm().now_s();
  });
  return at;
}

void ring(comm::Worker& worker) {
  std::vector<float> data(30'000, 1.f);
  (*comm::make_allreduce("ring"))(worker.comm(), data);
}

// How a run ends that must not end well.
std::string death_of(const Platform& platform, const std::function<void(comm::Worker&)>& body) {
  try {
    run(platform, platform.workers(), SimulationOptions{.host_threads = 2}, body);
  } catch (const comm::Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a speed profile stretches work over slow times and stands still in dead ones", "[sim]") {
  SpeedProfile profile;
  profile.slow(100, 200, 0.5);
  profile.slow(300, 400, 0);
  CHECK(profile.end(0, 100) == 100);
  CHECK(profile.end(0, 101) == 102);
  CHECK(profile.end(0, 150) == 200);
  CHECK(profile.end(100, 50) == 200);
  CHECK(profile.end(190, 10) == 205);
  CHECK(profile.end(200, 101) == 401);
  CHECK(profile.end(350, 7) == 407);
  CHECK(profile.end(350, 0) == 350);
  CHECK(profile.moving_from(299) == 299);
  CHECK(profile.moving_from(300) == 400);
  profile.slow(150, 1000, 0.5);        // both at a time
  CHECK(profile.end(150, 25) == 226);  // 12 until 200 at a quarter of the speed, 13 at half of it
  profile.slow(2000, never, 0);
  CHECK(profile.end(1999, 1) == 2000);
  CHECK(profile.end(1999, 2) == never);
  CHECK(profile.moving_from(2000) == never);
}

TEST_CASE("work in a speed profile ends later the more it is and the later it begins", "[sim]") {
  const core::RandomStream random(7, core::Purpose::generator);
  std::uint64_t draw = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SpeedProfile profile;
    for (int i = 0; i < 3; ++i) {
      const auto from = static_cast<Time>(random.below(1000, draw++));
      const auto length = 1 + static_cast<Time>(random.below(500, draw++));
      profile.slow(from, from + length, random.uniform(draw++));
    }
    for (Time start = 0; start < 1000; start += 37)
      for (Time work = 0; work < 300; work += 41) {
        CHECK(profile.end(start, work) >= start + work);
        CHECK(profile.end(start, work + 1) >= profile.end(start, work));
        CHECK(profile.end(start + 1, work) >= profile.end(start, work));
      }
  }
}

TEST_CASE("noise is the same in every run, differs by worker and seed, and only delays", "[sim][threads]") {
  Platform platform = slow_devices(4);
  CHECK(ends(platform, 4) == std::vector<double>(4, 1.0));
  platform.noise = {11, GENERATE(0., 0.1), GENERATE(0., 0.2)};
  if (platform.noise.rank_sigma + platform.noise.step_sigma == 0) return;
  const auto first = ends(platform, 4);
  CHECK(first == ends(platform, 4, SimulationOptions{.host_threads = 3}));
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(first[static_cast<std::size_t>(rank)] > 1);
    CHECK(first[static_cast<std::size_t>(rank)] < 3);
    CHECK(std::count(first.begin(), first.end(), first[static_cast<std::size_t>(rank)]) == 1);
  }
  Platform wider = platform;
  wider.noise.rank_sigma *= 1.5;
  wider.noise.step_sigma *= 1.5;
  const auto slower = ends(wider, 4);
  for (std::size_t rank = 0; rank < 4; ++rank) CHECK(slower[rank] > first[rank]);
  platform.noise.seed = 12;
  CHECK(ends(platform, 4) != first);
}

TEST_CASE("a worker's noise does not depend on how many workers there are", "[sim]") {
  Platform platform = slow_devices(8);
  platform.noise = {3, 0.1, 0.1};
  const auto all = ends(platform, 8), few = ends(platform, 3);
  CHECK(std::vector(all.begin(), all.begin() + 3) == few);
}

TEST_CASE("the rank's factor is static, the step's is not", "[sim]") {
  Platform platform = slow_devices(1);
  platform.noise = {5, 0.3, 0};
  const Pace by_rank(platform, 2, 0);
  CHECK(by_rank.of_computation(0, 1'000'000, 0) == by_rank.of_computation(0, 1'000'000, 99));
  platform.noise = {5, 0, 0.3};
  const Pace by_step(platform, 2, 0);
  CHECK(by_step.of_computation(0, 1'000'000, 0) != by_step.of_computation(0, 1'000'000, 99));
  // Median of exp(sigma |z|) is exp(0.6745 sigma).
  int below = 0;
  constexpr int draws = 4000;
  for (std::uint64_t step = 0; step < draws; ++step)
    below += by_step.of_computation(0, 1'000'000, step) < 1e6 * std::exp(0.6745 * 0.3) ? 1 : 0;
  CHECK(std::abs(below - draws / 2) < 4 * std::sqrt(draws / 4.));
}

TEST_CASE("ranks, computations and channels have noise of their own, drawn with numbers of their own", "[sim]") {
  Platform of_rank = slow_devices(1), of_step = of_rank;
  of_rank.noise = {5, 0.3, 0};
  of_step.noise = {5, 0, 0.3};
  std::set<Time> durations;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const int rank = static_cast<int>(i);
    durations.insert(Pace(of_rank, rank, 0).of_computation(0, 1'000'000'000, 0));
    for (const int channel : {0, 1}) durations.insert(Pace(of_step, 0, channel).of_computation(0, 1'000'000'000, i));
  }
  CHECK(durations.size() == 9);
}

TEST_CASE("a slow worker takes as much longer as its fault says", "[sim]") {
  Platform platform = slow_devices(3);
  platform.faults = {{0.3, Kind::worker, 1, 0.5, forever}};
  CHECK(ends(platform, 3)[0] == 1);
  CHECK(ends(platform, 3)[1] == Approx(0.3 + 0.7 / 0.5));
  platform.faults = {{0.25, Kind::worker, 1, 0, 2}};  // stands still for two seconds
  CHECK(ends(platform, 3)[1] == Approx(3));
  CHECK(ends(platform, 3)[2] == 1);
}

TEST_CASE("a dead worker ends the run with who waits for whom and who died when", "[sim][threads]") {
  Platform platform = slow_devices(4);
  platform.faults = {{0.05, Kind::worker, 2, 0, forever}};
  const bool announced = GENERATE(true, false);
  const std::string text = death_of(platform, [&](comm::Worker& worker) {
    std::vector<float> data(100);
    if (announced)
      worker.compute(streaming(400), [&] { worker.device().run(backend::Fill{1, data}); });  // 0.1 s
    else
      worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{1, data}); });
    ring(worker);
  });
  CHECK_THAT(text, contains_text("worker 3 waits for a message from worker 2"));
  CHECK_THAT(text, contains_text("worker 2 died at 50ms"));
  CHECK(text.find("worker 2 waits") == text.npos);
}

TEST_CASE("a dead worker sends nothing more, but what was on its way arrives", "[sim][threads]") {
  Platform platform = slow_devices(2);
  platform.faults = {{0.05, Kind::worker, 0, 0, forever}};
  bool first = false, second = false;
  const std::string text = death_of(platform, [&](comm::Worker& worker) {
    float value = 1;
    if (worker.rank() == 0) {
      worker.comm().send(1, 0, std::as_bytes(std::span(&value, 1)));
      pass_time(worker, 100);
      worker.comm().send(1, 0, std::as_bytes(std::span(&value, 1)));
      return;
    }
    worker.comm().receive(0, 0, std::as_writable_bytes(std::span(&value, 1)));
    first = true;
    worker.comm().receive(0, 0, std::as_writable_bytes(std::span(&value, 1)));
    second = true;
  });
  CHECK(first);
  CHECK_FALSE(second);
  CHECK_THAT(text, contains_text("worker 0 died"));
}

TEST_CASE("a NIC that is cut for a while delays, one cut for good ends the run by name", "[sim][threads]") {
  Platform platform = platform_of(3, 2, {1e-7, 1e12}, {1e-6, 1e9});
  constexpr std::size_t bytes = 1'000'000;  // 1 ms
  const auto body = [&](comm::Worker& worker) {
    std::vector<std::byte> data(bytes);
    if (worker.rank() == 0) worker.comm().send(2, 0, std::span<const std::byte>(data));
    if (worker.rank() == 2) worker.comm().receive(0, 0, std::span(data));
  };
  const auto time = [&] { return run(platform, 6, {}, body).makespan_s; };
  CHECK(time() == Approx(1.001e-3));
  const int nic = GENERATE(0, 1);  // at either end
  platform.faults = {{0.5e-3, Kind::nic, nic, 0, 2e-3}};
  CHECK(time() == Approx(3.001e-3).epsilon(1e-3));
  platform.faults = {{0, Kind::nic, nic, 0, 2e-3}};
  CHECK(time() == Approx(3.001e-3).epsilon(1e-3));
  platform.faults = {{0, Kind::nic, nic, 0.25, forever}};
  CHECK(time() == Approx(4.001e-3).epsilon(1e-3));
  platform.faults = {{0, Kind::nic, 2, 0, forever}};  // nobody uses that one
  CHECK(time() == Approx(1.001e-3));
  for (const double at : {0., 0.5e-3}) {
    platform.faults = {{at, Kind::nic, nic, 0, forever}};
    const std::string text = death_of(platform, body);
    CHECK_THAT(text, contains_text(core::format("nic {} died", nic)));
    CHECK_THAT(text, contains_text("worker 2 waits for a message from worker 0"));
  }
}

TEST_CASE("device links and uplinks can be cut too", "[sim]") {
  Platform platform = platform_of(4, 2, {1e-6, 1e9}, {1e-6, 1e9});
  platform.nodes_per_leaf = 2;
  platform.core_latency_s = 1e-6;
  const auto time = [&](int to) {
    return run(platform, 8, {},
               [&](comm::Worker& worker) {
                 std::vector<std::byte> data(1'000'000);
                 if (worker.rank() == 0) worker.comm().send(to, 0, std::span<const std::byte>(data));
                 if (worker.rank() == to) worker.comm().receive(0, 0, std::span(data));
               })
        .makespan_s;
  };
  platform.faults = {{0, Kind::device_link, 0, 0, 5e-3}};
  CHECK(time(1) == Approx(6.001e-3));
  CHECK(time(7) == Approx(6.001e-3));
  platform.faults = {{0, Kind::uplink, 1, 0, 5e-3}};
  CHECK(time(3) == Approx(1.001e-3));  // same leaf
  CHECK(time(7) == Approx(6e-3));      // waits at the far leaf, behind the latency
}

TEST_CASE("more workers than devices are refused by name, or share the devices on demand", "[sim][threads]") {
  Platform platform = slow_devices(2);
  platform.name = "small";
  platform.file = "somewhere/small.toml";
  CHECK_THROWS_AS(run(platform, 3, {}, ring), core::ConfigError);
  CHECK_THROWS_WITH(run(platform, 2'000'000'000, SimulationOptions{.oversubscribe = true}, ring),
                    contains_text("2000000000 workers needs 10TB of memory"));
  CHECK_THROWS_WITH(run(platform, 3, {}, ring), contains_text("small") && contains_text("`oversubscribe`") &&
                                                    contains_text("cluster.nodes") && contains_text("somewhere/small.toml"));
  const auto at =
      ends(platform, 5, SimulationOptions{.oversubscribe = true});  // workers 0-2 on one device, 3 and 4 on the other
  CHECK(std::max({at[0], at[1], at[2]}) == Approx(3));
  CHECK(std::max(at[3], at[4]) == Approx(2));
  CHECK(at == ends(platform, 5, SimulationOptions{.host_threads = 4, .oversubscribe = true}));
  const auto result = [](int workers, const Platform& on) {
    std::vector<float> sum;
    run(on, workers, SimulationOptions{.oversubscribe = true}, [&](comm::Worker& worker) {
      std::vector<float> data(100, 0.1f * static_cast<float>(worker.rank()));
      (*comm::make_allreduce("ring"))(worker.comm(), data);
      if (worker.rank() == 0) sum = data;
    });
    return sum;
  };
  CHECK(result(7, platform) == result(7, slow_devices(7)));
}

TEST_CASE("a death is told wherever between two picoseconds it happens", "[sim]") {
  for (const double at_s : {0.5, 0.4695021331234567, 0.4695021331236543, 1e-3 / 3}) {
    Platform platform = slow_devices(1);
    platform.faults.push_back({.at_s = at_s, .kind = Platform::Fault::Kind::worker, .id = 0});
    CHECK_THAT(death_of(platform,
                        [](comm::Worker& worker) {
                          std::vector<float> data(100);
                          worker.compute(streaming(400), [&] { worker.device().run(backend::Fill{1, data}); });
                          for (int part = 0; part < 50; ++part)
                            worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{1, data}); });
                        }),
               contains_text("worker 0 died at"));
  }
}

TEST_CASE("a shared device serves its workers in the order in which they ask for it", "[sim]") {
  std::vector<int> order;
  run(slow_devices(1), 4, SimulationOptions{.oversubscribe = true}, [&](comm::Worker& worker) {
    std::vector<float> data(100);
    worker.compute(streaming(400), [&] { worker.device().run(backend::Fill{1, data}); });
    order.push_back(worker.rank());
    worker.compute(streaming(400), [&] { worker.device().run(backend::Fill{1, data}); });
    order.push_back(worker.rank());
  });
  CHECK(order == std::vector{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("workers of one device talk at the level self", "[sim]") {
  Platform platform = uncontended(2, {1e-6, 1e9});
  platform.self = Link{3e-6, 2e9};
  const double time = run(platform, 4, SimulationOptions{.oversubscribe = true}, [&](comm::Worker& worker) {
                        std::vector<std::byte> data(1'000'000);
                        if (worker.rank() == 0) worker.comm().send(1, 0, std::span<const std::byte>(data));
                        if (worker.rank() == 1) worker.comm().receive(0, 0, std::span(data));
                      }).makespan_s;
  CHECK(time == Approx(3e-6 + 1e6 / 2e9));
}

TEST_CASE("a worker that dies on a shared device leaves it to the others", "[sim]") {
  Platform platform = slow_devices(1);
  platform.faults = {{0.05, Kind::worker, 0, 0, forever}};
  double end = 0;
  CHECK_THROWS_WITH(run(platform, 2, SimulationOptions{.oversubscribe = true},
                        [&](comm::Worker& worker) {
                          pass_time(worker, 100);
                          if (worker.rank() == 1) end = worker.comm().now_s();
                        }),
                    contains_text("worker 0 died"));
  CHECK(end == Approx(0.15));
}
