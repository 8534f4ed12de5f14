// Communication tasks of emulated workers: beside the worker in simulated time, on the same links, and as deterministic.
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::Communicator;

namespace {

void exchange(Communicator& comm, std::span<const float> out, std::span<float> in) {
  const int other = 1 - comm.rank();
  const auto receive = comm.start_receive(other, 0, in);
  comm.send(other, 0, out);
  comm.wait(receive);
}

/// Simulated time in microseconds at which worker 0 of two ends.
double ended_us(const Platform& platform, const std::function<void(comm::Worker&)>& body) {
  double ended_s = 0;
  run(platform, 2, {}, [&](comm::Worker& worker) {
    body(worker);
    if (worker.rank() == 0) ended_s = worker.comm().now_s();
  });
  return ended_s * 1e6;
}

}  // namespace

TEST_CASE("computing and a communication task take as long as the longer of the two", "[sim]") {
  const std::size_t compute_us = GENERATE(0u, 10u, 100u, 1000u);
  const std::size_t floats = GENERATE(1u, 1000u, 50000u);  // eager and rendezvous
  const double message_us = message_ps(wire, 4.0 * static_cast<double>(floats)) * 1e-6;
  const double together = ended_us(timed(uncontended(2, wire)), [&](comm::Worker& worker) {
    std::vector<float> out(floats), in(floats);
    worker.launch([&](Communicator& comm) { exchange(comm, out, in); });
    pass_time(worker, compute_us * floats_per_us);
    worker.join();
  });
  CHECK(together == Approx(std::max(static_cast<double>(compute_us), message_us)).margin(1e-5));
}

TEST_CASE("every allreduce has a non-blocking form, with its bits, beside the worker's computing", "[sim]") {
  const std::string algorithm = GENERATE(from_range(comm::testing::own_algorithms()));
  const int workers = GENERATE(1, 3, 4);
  CAPTURE(algorithm, workers);
  const auto allreduce = comm::make_allreduce(algorithm);
  std::vector<std::string> hashes;
  std::vector<double> times;
  for (const bool blocking : {true, false}) {
    const Report report = run(timed(uncontended(workers, wire)), workers, {}, [&](comm::Worker& worker) {
      auto data = comm::testing::contribution(worker.rank(), 3000);
      if (blocking)
        (*allreduce)(worker.comm(), data);
      else
        worker.launch([&](Communicator& comm) { (*allreduce)(comm, data); });
      pass_time(worker, 1000 * floats_per_us);
      worker.join();
      if (worker.rank() == 0) hashes.push_back(comm::testing::hash_of(data));
    });
    times.push_back(report.makespan_s);
  }
  CHECK(hashes[0] == hashes[1]);
  if (workers > 1) CHECK(times[1] == Approx(1000e-6));  // as long as computing takes
  if (workers > 1) CHECK(times[0] > times[1]);
}

TEST_CASE("the additions of a task pass beside the worker's computing", "[sim]") {
  const double time = ended_us(timed(uncontended(2, wire)), [&](comm::Worker& worker) {
    std::vector<float> from(10 * floats_per_us), to(10 * floats_per_us);  // 3 accesses: 30 us
    worker.launch([&](Communicator& comm) { comm.add(from, to); });
    pass_time(worker, 20 * floats_per_us);
    worker.join();
  });
  CHECK(time == Approx(30));
}

TEST_CASE("messages of a task share the links with those of the worker", "[sim]") {
  constexpr std::size_t floats = 25000;  // 100 us each
  const double time = ended_us(timed(uncontended(2, wire)), [&](comm::Worker& worker) {
    std::vector<float> out(floats), in(floats), task_in(floats);
    worker.launch([&](Communicator& comm) { exchange(comm, out, task_in); });
    exchange(worker.comm(), out, in);
    worker.join();
  });
  CHECK(time == Approx(201));
}

TEST_CASE("the messages of a worker and of its tasks never meet", "[sim]") {
  const int from = GENERATE(1, comm::any_source);
  float by_worker = 0, by_task = 0;
  run(2, [&](comm::Worker& worker) {
    const auto of = [](const float& value) { return std::span<const float>(&value, 1); };
    const float for_worker = 1, for_task = 2;
    if (worker.rank() == 1) {
      worker.launch([&](Communicator& comm) { comm.send(0, 5, of(for_task)); });
      worker.join();  // the task's message is there first
      worker.comm().send(0, 5, of(for_worker));
    } else {
      worker.launch([&](Communicator& comm) { comm.receive(from, 5, std::span(&by_task, 1)); });
      worker.comm().receive(from, 5, std::span(&by_worker, 1));
      worker.join();
    }
  });
  CHECK(by_worker == 1);
  CHECK(by_task == 2);
}

TEST_CASE("tasks run one after the other in the order of launching, and need no join", "[sim]") {
  const int workers = GENERATE(1, 2, 5);
  const bool joins = GENERATE(false, true);
  std::vector<std::vector<int>> order(static_cast<std::size_t>(workers));
  run(workers, [&](comm::Worker& worker) {
    auto& mine = order[static_cast<std::size_t>(worker.rank())];
    for (int i = 0; i < 6; ++i) {
      worker.launch([&mine, i](Communicator& comm) {
        comm::barrier(comm);
        mine.push_back(i);
      });
      if (i == 3 && joins) {
        worker.join();
        CHECK(mine.size() == 4);
        worker.join();  // nothing to wait for
      }
    }
  });
  for (const auto& mine : order) CHECK(mine == std::vector{0, 1, 2, 3, 4, 5});
}

TEST_CASE("join tells the first error of a task, drops those behind it, and later tasks run", "[sim]") {
  int dropped = 0, later = 0;
  std::vector<std::string> told(3);
  run(3, [&](comm::Worker& worker) {
    worker.launch([](Communicator& comm) { comm::barrier(comm); });
    worker.launch([](Communicator&) -> void { throw std::runtime_error("broken"); });
    worker.launch([&](Communicator&) { ++dropped; });
    try {
      worker.join();
    } catch (const std::runtime_error& error) {
      told[static_cast<std::size_t>(worker.rank())] = error.what();
    }
    worker.launch([&](Communicator& comm) {
      comm::barrier(comm);
      ++later;
    });
    worker.join();
  });
  CHECK(told == std::vector<std::string>(3, "broken"));
  CHECK(dropped == 0);
  CHECK(later == 3);
}

TEST_CASE("a task that fails while it is ahead of the common clock is joined at its own time", "[sim]") {
  double joined_s = 0;
  run(timed(uncontended(1, wire)), 1, {}, [&](comm::Worker& worker) {
    std::vector<float> from(250), to(250);  // 3 accesses: 3 us
    worker.launch([&](Communicator& comm) {
      comm.add(from, to);
      throw std::runtime_error("late");
    });
    CHECK_THROWS_WITH(worker.join(), "late");
    joined_s = worker.comm().now_s();
  });
  CHECK(joined_s == Approx(3e-6));
}

TEST_CASE("an error of a task that nobody joined ends the simulation", "[sim]") {
  REQUIRE_THROWS_WITH(
      run(2, [](comm::Worker& worker) { worker.launch([](Communicator&) -> void { throw core::ConfigError("unheard"); }); }),
      "unheard");
}

// AddressSanitizer sees it if a task touches memory of a worker that has been unwound.
TEST_CASE("a worker that fails beside its tasks ends the simulation with its error", "[sim]") {
  const int pieces = GENERATE(0, 10, 100);  // of work, ahead of the common clock: none, as long as half a task, after both
  REQUIRE_THROWS_WITH(run(timed(uncontended(3, wire)), 3, {},
                          [&](comm::Worker& worker) {
                            std::vector<float> mine(100'000);
                            const comm::TaskGuard guard(worker);
                            for (int task = 0; task < 2; ++task) {
                              worker.launch([&](Communicator& comm) { (*comm::make_allreduce("ring"))(comm, mine); });
                              pass_time(worker, 10'000);
                            }
                            for (int piece = 0; piece < pieces; ++piece) pass_time(worker, 10'000);
                            if (worker.rank() == 1) throw core::ConfigError("stop");
                            worker.join();
                          }),
                      "stop");
}

TEST_CASE("a deadlock of tasks is told like one of workers", "[sim]") {
  REQUIRE_THROWS_WITH(run(2,
                          [](comm::Worker& worker) {
                            worker.launch([](Communicator& comm) { comm.receive(1 - comm.rank(), 0, std::span<float>{}); });
                            worker.join();
                          }),
                      contains_text("worker 0 waits for the communication tasks of worker 0") &&
                          contains_text("worker 0 waits for a message from worker 1"));
}

TEST_CASE("a task cannot be launched from within a computation", "[sim]") {
  REQUIRE_THROWS_AS(run(1, [](comm::Worker& worker) { worker.compute({}, [&] { worker.launch([](Communicator&) {}); }); }),
                    std::logic_error);
}

TEST_CASE("results and times with tasks repeat and do not depend on host threads", "[sim][threads]") {
  constexpr int workers = 5;
  constexpr std::size_t length = 30000;
  const auto program = [&](int host_threads) {
    std::vector<std::vector<float>> data;
    std::vector<Time> times;
    for (int i = 0; i < 2 * workers; ++i) {
      data.emplace_back(length);
      const core::RandomStream random(5, core::Purpose::generator, static_cast<std::uint32_t>(i));
      for (std::size_t e = 0; e < length; ++e) data.back()[e] = static_cast<float>(random.normal(e));
    }
    times.resize(workers);
    SimulationOptions options;
    options.host_threads = host_threads;
    run(timed(uncontended(workers, wire)), workers, options, [&](comm::Worker& worker) {
      const auto rank = static_cast<std::size_t>(worker.rank());
      const auto ring = comm::make_allreduce("ring"), tree = comm::make_allreduce("tree");
      for (int step = 0; step < 3; ++step) {
        worker.launch([&](Communicator& comm) { (*ring)(comm, data[2 * rank]); });
        worker.compute({}, [&] { worker.device().run(backend::Scale{0.5f, data[2 * rank + 1]}); });
        (*tree)(worker.comm(), data[2 * rank + 1]);
        worker.join();
      }
      times[rank] = simulated_time(worker);
    });
    return std::pair(data, times);
  };
  const auto expected = program(1);
  for (const int threads : {1, 2, 4}) CHECK(program(threads) == expected);
}
