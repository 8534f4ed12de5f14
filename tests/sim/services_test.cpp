// Services of emulated workers (Worker::serve) and waits with a limit.
#include <algorithm>
#include <limits>

#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::Communicator;

namespace {

constexpr int request_tag = 1;
constexpr int reply_tag = 2;

std::span<float> one(float& value) { return {&value, 1}; }
std::span<const float> one(const float& value) { return {&value, 1}; }

/// Answers so many requests of whoever asks: with how many there have been and what they sum to.
void answer(Communicator& comm, int requests, std::vector<int>& order) {
  float sum = 0;
  for (int i = 0; i < requests; ++i) {
    float request = 0;
    const int client = comm.receive(comm::any_source, request_tag, one(request)).source;
    order.push_back(client);
    sum += request;
    comm.send(client, reply_tag, one(sum));
  }
}

float ask(Communicator& comm, int server, float request) {
  float reply = 0;
  comm.send(server, request_tag, one(request));
  comm.receive(server, reply_tag, one(reply));
  return reply;
}

}  // namespace

TEST_CASE("a service answers the tasks of all workers, its own worker's too, beside computing and talking", "[sim]") {
  const int workers = GENERATE(1, 2, 5);
  const int server = workers / 2;
  constexpr int rounds = 4;
  std::vector<int> order;
  std::vector<float> last(static_cast<std::size_t>(workers));
  run(timed(uncontended(workers, wire)), workers, {}, [&](comm::Worker& worker) {
    REQUIRE(worker.serves_beside());
    if (worker.rank() == server) worker.serve([&](Communicator& comm) { answer(comm, rounds * workers, order); });
    std::vector<float> data(100, 1.f);
    for (int round = 0; round < rounds; ++round) {
      worker.launch([&](Communicator& comm) { last[static_cast<std::size_t>(comm.rank())] = ask(comm, server, 1); });
      pass_time(worker, 5 * floats_per_us);
      (*comm::make_allreduce("ring"))(worker.comm(), data);
      worker.join();
    }
    worker.join_service();
  });
  CHECK(*std::max_element(last.begin(), last.end()) == static_cast<float>(rounds * workers));
  REQUIRE(order.size() == static_cast<std::size_t>(rounds * workers));
  for (int client = 0; client < workers; ++client) CHECK(std::count(order.begin(), order.end(), client) == rounds);
}

TEST_CASE("a service takes requests in the order of their arrival, at equal times in that of the ranks", "[sim]") {
  std::vector<int> order;
  run(timed(uncontended(4, wire)), 4, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 0) return worker.serve([&](Communicator& comm) { answer(comm, 3, order); });
    if (worker.rank() != 3) pass_time(worker, 10 * floats_per_us);
    worker.launch([&](Communicator& comm) { ask(comm, 0, 1); });
  });
  CHECK(order == std::vector{3, 1, 2});
}

TEST_CASE("results and times with services repeat and do not depend on host threads", "[sim][threads]") {
  constexpr int workers = 5;
  const auto program = [&](int host_threads) {
    std::vector<int> order;
    std::vector<Time> ends(workers);
    SimulationOptions options;
    options.host_threads = host_threads;
    run(timed(uncontended(workers, wire)), workers, options, [&](comm::Worker& worker) {
      if (worker.rank() == 2) worker.serve([&](Communicator& comm) { answer(comm, 6 * workers, order); });
      std::vector<float> data(20000, 1.f);
      for (std::uint32_t step = 0; step < 6; ++step) {
        worker.launch([](Communicator& comm) { ask(comm, 2, 1); });
        const core::RandomStream random(7, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
        const auto part = std::span(data).first(1000 + random.below(19000, step));
        worker.compute({}, [&] { worker.device().run(backend::Scale{0.5f, part}); });
        worker.join();
      }
      worker.join_service();
      ends[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
    });
    return std::pair(order, ends);
  };
  const auto expected = program(1);
  for (const int threads : {1, 3}) CHECK(program(threads) == expected);
}

TEST_CASE("a service that nobody ends is told as a deadlock, not waited for in silence", "[sim]") {
  const bool joined = GENERATE(false, true);
  REQUIRE_THROWS_WITH(
      run(2,
          [&](comm::Worker& worker) {
            if (worker.rank() == 1)
              worker.serve([](Communicator& comm) { comm.receive(comm::any_source, 0, std::span<float>{}); });
            if (joined) worker.join_service();
          }),
      contains_text("worker 1 waits for the service of worker 1") &&
          contains_text("worker 1 waits for a message from any worker"));
}

TEST_CASE("the error of a service is joined, or told instead of the deadlock that comes of it", "[sim]") {
  const auto fail = [](Communicator& comm) {
    comm.receive(comm::any_source, request_tag, std::span<float>{});
    throw core::ConfigError("the log cannot be written");
  };
  SECTION("joined") {
    std::string told;
    run(2, [&](comm::Worker& worker) {
      if (worker.rank() == 1) return worker.comm().send(0, 0, std::span<const float>{});
      worker.serve([](Communicator&) { throw core::ConfigError("no"); });
      worker.comm().receive(1, 0, std::span<float>{});
      try {
        worker.join_service();
      } catch (const core::ConfigError& error) {
        told = error.what();
      }
      worker.join_service();  // told once
    });
    CHECK(told == "no");
  }
  SECTION("not joined") {
    REQUIRE_THROWS_WITH(run(3,
                            [&](comm::Worker& worker) {
                              if (worker.rank() == 0) worker.serve(fail);
                              worker.launch([](Communicator& comm) {
                                comm.send(0, request_tag, std::span<const float>{});
                                comm.receive(0, reply_tag, std::span<float>{});
                              });
                              worker.join();
                            }),
                        "the log cannot be written");
  }
}

TEST_CASE("a worker of a group serves the members of its group, by their ranks there", "[sim]") {
  std::vector<std::vector<int>> orders(3);  // columns of 2 x 3 workers; the second member serves
  run(timed(uncontended(6, wire)), 6, {}, [&](comm::Worker& worker) {
    const int column = worker.rank() % 3;
    comm::GroupWorker group(worker, column, 3, 2);
    if (group.rank() == 1)
      group.serve([&](Communicator& comm) { answer(comm, 4, orders[static_cast<std::size_t>(column)]); });
    for (int i = 0; i < 2; ++i) group.launch([](Communicator& comm) { ask(comm, 1, 1); });
    group.join();
    group.join_service();
  });
  for (auto& order : orders) {
    std::sort(order.begin(), order.end());
    CHECK(order == std::vector{0, 0, 1, 1});
  }
  REQUIRE_THROWS_WITH(run(3,
                          [](comm::Worker& worker) {
                            comm::GroupWorker pair(worker, 0, 1, 2);
                            if (worker.rank() == 2) worker.comm().send(0, 0, std::span<const float>{});
                            if (worker.rank() == 0) pair.comm().receive(comm::any_source, 0, std::span<float>{});
                          }),
                      "a group of workers received a message from outside the group");
}

TEST_CASE("a worker has one service at a time, and none from within a computation", "[sim]") {
  const auto wait = [](Communicator& comm) { comm.receive(0, 0, std::span<float>{}); };
  REQUIRE_THROWS_WITH(run(1,
                          [&](comm::Worker& worker) {
                            worker.serve(wait);
                            worker.serve(wait);
                          }),
                      "a worker has one service at a time");
  REQUIRE_THROWS_AS(run(1, [&](comm::Worker& worker) { worker.compute({}, [&] { worker.serve(wait); }); }),
                    std::logic_error);
  int served = 0;
  run(1, [&](comm::Worker& worker) {
    for (int i = 0; i < 3; ++i) {
      worker.serve([&](Communicator&) { ++served; });
      worker.join_service();
    }
  });
  CHECK(served == 3);
}

// AddressSanitizer sees it if a service touches memory of a worker that has been unwound.
TEST_CASE("a worker that fails beside its service ends the simulation with its error", "[sim]") {
  REQUIRE_THROWS_WITH(
      run(timed(uncontended(2, wire)), 2, {},
          [&](comm::Worker& worker) {
            std::vector<float> mine(100'000);
            const comm::TaskGuard guard(worker);
            worker.serve([&](Communicator& comm) {
              for (;;) comm.add(mine, mine), comm.receive(1 - comm.rank(), 0, mine);
            });
            for (int i = 0; i < 3; ++i) {
              worker.launch([&](Communicator& comm) { comm.send(1 - comm.rank(), 0, std::span<const float>(mine)); });
              pass_time(worker, 10'000);
            }
            if (worker.rank() == 1) throw core::ConfigError("stop");
            worker.join();
          }),
      "stop");
}

TEST_CASE("a wait with a limit lasts as long as the message or the limit, whichever is shorter", "[sim]") {
  const std::size_t floats = GENERATE(1u, 50000u);  // eager and rendezvous
  const double message_us = 20 + message_ps(wire, 4.0 * static_cast<double>(floats)) * 1e-6;
  const double limit_us = GENERATE(0., 5., 20., 1e3, 1e30, std::numeric_limits<double>::infinity());
  CAPTURE(floats, limit_us);
  double first_us = 0, second_us = 0, sent_us = 0;
  bool came = false;
  std::vector<float> in(floats);
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    Communicator& comm = worker.comm();
    if (worker.rank() == 1) {
      pass_time(worker, 20 * floats_per_us);
      const auto send = comm.start_send(0, 0, std::span<const float>(std::vector<float>(floats, 3.f)));
      comm.wait(send);
      sent_us = comm.now_s() * 1e6;
      return;
    }
    const auto request = comm.start_receive(1, 0, in);
    const auto received = comm.wait_for(request, limit_us * 1e-6);
    first_us = comm.now_s() * 1e6;
    came = received.has_value();
    if (came) CHECK((received->source == 1 && received->bytes == 4 * floats));
    if (!came) CHECK(comm.wait(request).bytes == 4 * floats);
    second_us = comm.now_s() * 1e6;
  });
  CHECK(came == (limit_us >= message_us));
  CHECK(first_us == Approx(std::min(limit_us, message_us)).margin(1e-5));
  CHECK(second_us == Approx(message_us).margin(1e-5));
  CHECK(in == std::vector<float>(floats, 3.f));
}

TEST_CASE("what arrives in the last instant of a limit is in time, a picosecond later is not", "[sim]") {
  const int from = GENERATE(1, comm::any_source);
  const double latency_s = 5e-6;
  const double late_s = GENERATE(0., 1e-12), overhead_s = GENERATE(0., 1e-6);  // which the limit does not have to include
  bool came = false;
  double end_s = 0;
  Platform platform = uncontended(2, {latency_s, 1e18});
  platform.message.receive_overhead_s = overhead_s;
  run(platform, 2, {}, [&](comm::Worker& worker) {
    const std::byte data[1] = {};
    if (worker.rank() == 1) return worker.comm().send(0, 0, std::span(data));
    std::byte in[1];
    const auto request = worker.comm().start_receive(from, 0, std::span(in));
    came = worker.comm().wait_for(request, latency_s - late_s).has_value();
    if (!came) worker.comm().wait(request);
    end_s = worker.comm().now_s();
  });
  CHECK(came == (late_s == 0));
  CHECK(end_s == Approx(latency_s + overhead_s).margin(1e-11));
}

TEST_CASE("a send that nobody receives is given up for a while, and waited for later", "[sim]") {
  std::vector<double> times_us;
  std::vector<bool> over;
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    std::vector<float> data(50000);
    if (worker.rank() == 1) {
      pass_time(worker, 100 * floats_per_us);
      worker.comm().receive(0, 0, data);
      return;
    }
    const auto send = worker.comm().start_send(1, 0, std::span<const float>(data));
    for (const double limit_s : {30e-6, 20e-6, 1.0}) {
      over.push_back(worker.comm().wait_for(send, limit_s).has_value());
      times_us.push_back(worker.comm().now_s() * 1e6);
    }
  });
  CHECK(over == std::vector{false, false, true});
  CHECK(times_us[0] == Approx(30));
  CHECK(times_us[1] == Approx(50));
  CHECK(times_us[2] > 100);
}

TEST_CASE("limits that are not reached change neither times nor bits of a run", "[sim]") {
  const auto program = [](double limit_s) {
    std::vector<Time> ends(4);
    const Report report = run(timed(uncontended(4, wire)), 4, {}, [&](comm::Worker& worker) {
      Communicator& comm = worker.comm();
      float value = 0;
      for (int step = 0; step < 50; ++step) {
        pass_time(worker, static_cast<std::size_t>(100 * (worker.rank() + 1) % 7));
        const auto in = comm.start_receive((comm.rank() + 3) % 4, 0, one(value));
        const auto out = comm.start_send((comm.rank() + 1) % 4, 0, one(static_cast<const float&>(value)));
        REQUIRE(comm.wait_for(in, limit_s).has_value());
        REQUIRE(comm.wait_for(out, limit_s).has_value());
      }
      ends[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
    });
    return std::pair(ends, report.messages);
  };
  CHECK(program(1.0) == program(std::numeric_limits<double>::infinity()));
}
