#include <atomic>

#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "core/errors.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

struct Counted {
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  std::atomic<int>& count_;
};

}  // namespace

TEST_CASE("a deadlock ends with who waits for whom", "[sim]") {
  REQUIRE_THROWS_AS(run(2, [](comm::Worker& worker) { worker.comm().receive(1 - worker.rank(), 0, std::span<float>{}); }),
                    Deadlock);
  std::string text;
  try {
    run(4, [](comm::Worker& worker) {
      std::vector<std::byte> data(1'000'000);
      if (worker.rank() == 0) worker.comm().receive(2, 0, std::span(data));
      if (worker.rank() == 1) worker.comm().receive(comm::any_source, 5, std::span(data));
      if (worker.rank() == 2) worker.comm().send(3, 0, std::span<const std::byte>(data));
    });
  } catch (const Deadlock& deadlock) {
    text = deadlock.what();
  }
  CHECK_THAT(text, contains_text("worker 0 waits for a message from worker 2"));
  CHECK_THAT(text, contains_text("worker 1 waits for a message from any worker"));
  CHECK_THAT(text, contains_text("worker 2 waits for the receive of worker 3"));
  CHECK_THAT(text, !contains_text("worker 3 waits"));
}

TEST_CASE("the report of a deadlock among very many workers stays short", "[sim]") {
  REQUIRE_THROWS_WITH(run(1000, [](comm::Worker& worker) { worker.comm().receive(worker.rank(), 0, std::span<float>{}); }),
                      contains_text("and 992 more"));
}

TEST_CASE("an exception of one worker ends the simulation with it and unwinds the others", "[sim][threads]") {
  const std::string where = GENERATE("body", "compute", "kernels", "first", "last");
  const int host_threads = GENERATE(1, 3);
  std::atomic<int> alive = 0, ended_normally = 0;
  SimulationOptions options;
  options.host_threads = host_threads;
  CAPTURE(where, host_threads);
  const auto body = [&](comm::Worker& worker) {
    const Counted counted(alive);
    if (where == "first" && worker.rank() == 0) throw core::ConfigError("stop at worker 0");
    std::vector<float> data(100'000, 1.f);
    (*comm::make_allreduce("ring"))(worker.comm(), data);
    if (worker.rank() == 2) {
      if (where == "body") throw core::ConfigError("stop at worker 2");
      if (where == "compute") worker.compute({}, [] { throw core::ConfigError("stop at worker 2"); });
      if (where == "kernels")
        worker.run_kernels([&](backend::KernelQueue&) { throw core::ConfigError("stop at worker 2"); });
      if (where == "last") {
        pass_time(worker, 1000);
        throw core::ConfigError("stop at worker 2");
      }
    }
    worker.compute({}, [&] { worker.device().run(backend::Scale{2.f, data}); });
    if (where == "last" && worker.rank() != 2) worker.comm().receive(2, 0, std::span(data));
    comm::barrier(worker.comm());
    ++ended_normally;
  };
  REQUIRE_THROWS_AS(run(free_platform(4), 4, options, body), core::ConfigError);
  REQUIRE_THROWS_WITH(run(free_platform(4), 4, options, body), contains_text("stop at worker"));
  CHECK(alive == 0);
  CHECK(ended_normally == 0);
}

TEST_CASE("of two failures the one that is first in simulated time is told", "[sim][threads]") {
  Platform platform = free_platform(3);
  platform.device = {1e12, 1e12, 1, 1, 0};
  REQUIRE_THROWS_WITH(run(platform, 3, SimulationOptions{.host_threads = 2},
                          [](comm::Worker& worker) {
                            pass_time(worker, worker.rank() == 1 ? 1000 : 50'000);
                            throw std::runtime_error("worker " + std::to_string(worker.rank()));
                          }),
                      "worker 1");
}

TEST_CASE("a worker may catch what its own computation threw and go on", "[sim]") {
  int caught = 0;
  run(2, [&](comm::Worker& worker) {
    try {
      worker.compute({}, [] { throw std::runtime_error("mended"); });
    } catch (const std::runtime_error&) {
      ++caught;
    }
    comm::barrier(worker.comm());
  });
  CHECK(caught == 2);
}

TEST_CASE("workers that communicate while they handle an exception keep their own", "[sim]") {
  constexpr int workers = 4;
  std::vector<std::string> told(workers);
  run(workers, [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    try {
      try {
        throw std::runtime_error("error of worker " + std::to_string(rank));
      } catch (const std::runtime_error&) {
        // All are in their handlers now; each leaves in another order than it came.
        if (worker.rank() > 0) worker.comm().receive(worker.rank() - 1, 0, std::span<float>{});
        if (worker.rank() + 1 < workers) worker.comm().send(worker.rank() + 1, 0, std::span<const float>{});
        throw;
      }
    } catch (const std::exception& error) {
      told[rank] = error.what();
    }
    CHECK(std::uncaught_exceptions() == 0);
  });
  for (std::size_t rank = 0; rank < workers; ++rank) CHECK(told[rank] == "error of worker " + std::to_string(rank));
}

TEST_CASE("impossible numbers of workers and threads are the user's to mend", "[sim]") {
  const auto nothing = [](comm::Worker&) {};
  CHECK_THROWS_AS(run(free_platform(1), 0, {}, nothing), core::ConfigError);
  CHECK_THROWS_AS(run(free_platform(1), -3, {}, nothing), core::ConfigError);
  CHECK_THROWS_AS(run(free_platform(1), 1, SimulationOptions{.host_threads = 0}, nothing), core::ConfigError);
  CHECK_THROWS_AS(run(free_platform(1), 1, SimulationOptions{.device = "abacus"}, nothing), core::ConfigError);
  REQUIRE_THROWS_WITH(run(free_platform(1), 1, SimulationOptions{.network = "carrier_pigeon"}, nothing),
                      contains_text("known: fifo"));
  REQUIRE_THROWS_WITH(run(platform_of(2, 4, {1e-6, 1e9}, {1e-6, 1e9}), 9, {}, nothing),
                      contains_text("8 devices") && contains_text("9 workers"));
}

TEST_CASE("a simulation that is stopped at any time unwinds what its workers were doing", "[sim]") {
  const bool shared_devices = GENERATE(false, true);
  const int host_threads = GENERATE(1, 2);
  const Platform platform = timed(uncontended(shared_devices ? 2 : 6, wire));
  std::vector<std::vector<float>> drawn;  // once: that takes longer than the simulations
  for (int rank = 0; rank < 6; ++rank) drawn.push_back(comm::testing::contribution(rank, 20'000));
  std::atomic<int> alive = 0;
  const auto work = [&](EmulatedWorker& worker) {
    const Counted counted(alive);
    auto sums = drawn[static_cast<std::size_t>(worker.rank())], others = sums;
    const auto allreduce = comm::make_allreduce("ring");
    for (int i = 0; i < 4; ++i) {
      worker.launch([&](comm::Communicator& comm) { (*allreduce)(comm, others); });
      pass_time(worker, 30 * floats_per_us);
      (*allreduce)(worker.comm(), sums);
      worker.join();
      worker.pass(1e-5);
    }
  };
  SimulationOptions options{.host_threads = host_threads, .oversubscribe = shared_devices};
  const double makespan_s = run(platform, 6, options, work).makespan_s;
  for (int i = 0; i <= 40; ++i) {
    const double until_s = makespan_s * i / 39;
    options.stop_when = [&](double now_s) { return now_s >= until_s; };
    const Report report = run(platform, 6, options, work);
    CAPTURE(i, shared_devices, host_threads);
    CHECK(report.stopped == (i < 40));
    CHECK(report.makespan_s <= until_s);
    CHECK(alive == 0);
  }
}
