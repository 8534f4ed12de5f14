// One-sided windows of emulated workers: contents, mutual exclusion, and simulated times against closed forms.
#include "backend/kernels/add.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/window.hpp"
#include "comm/window_programs.hpp"
#include "core/philox.hpp"
#include "sim/engine/engine.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::Communicator;
using comm::Window;

namespace {

constexpr double latency_s = 3e-6;
constexpr double bytes_per_s = 1e9;
constexpr double send_s = 1e-6;     // o_s
constexpr double receive_s = 2e-6;  // o_r

Platform with_overheads(int workers) {
  Platform platform = timed(uncontended(workers, {latency_s, bytes_per_s}));
  platform.message.send_overhead_s = send_s;
  platform.message.receive_overhead_s = receive_s;
  return platform;
}

/// Seconds that `action` takes worker 1 of two, with a window of 10,000 floats open.
double duration_s(const std::function<void(Window&)>& action) {
  double taken_s = 0;
  run(with_overheads(2), 2, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(10000, 1);
    if (worker.rank() == 0) return;
    const double begin_s = worker.comm().now_s();
    action(*window);
    taken_s = worker.comm().now_s() - begin_s;
  });
  return taken_s;
}

constexpr double lock_s = send_s + 2 * latency_s + receive_s;

}  // namespace

TEST_CASE("window programs hold among emulated workers, over comm() and over the channel of tasks", "[sim]") {
  const auto programs = comm::testing::window_programs(20);
  const auto& program = programs[GENERATE(range(0, 10))];
  const int workers = GENERATE(1, 2, 5);
  const bool as_task = GENERATE(false, true);
  CAPTURE(program.claim, workers, as_task);
  REQUIRE(programs.size() == 10);
  run(with_overheads(workers), workers, {}, [&](comm::Worker& worker) {
    if (!as_task) return program.run(worker.comm());
    worker.launch([&](Communicator& comm) { program.run(comm); });
    worker.join();
  });
}

TEST_CASE("transfers with a window take the times that its header gives", "[sim]") {
  using enum Window::Lock;
  const std::size_t floats = GENERATE(1u, 250u, 10000u);
  const double wire_s = latency_s + 4 * static_cast<double>(floats) / bytes_per_s;
  const double sum_s = 12e-9 * static_cast<double>(floats);
  const double unlock_s = send_s;
  std::vector<float> data(floats), more(floats);
  CHECK(duration_s([&](Window& w) { w.lock(0, shared); }) == Approx(lock_s));
  CHECK(duration_s([&](Window& w) { w.lock(0, shared), w.unlock(0); }) == Approx(lock_s + unlock_s));
  CHECK(duration_s([&](Window& w) { w.lock(0, shared), w.get(0, 0, data); }) == Approx(lock_s + send_s));
  CHECK(duration_s([&](Window& w) { w.lock(0, shared), w.get(0, 0, data), w.unlock(0); }) ==
        Approx(lock_s + send_s + latency_s + wire_s + unlock_s));
  CHECK(duration_s([&](Window& w) { w.lock(0, exclusive), w.put(0, 0, data), w.unlock(0); }) ==
        Approx(lock_s + send_s + wire_s + latency_s + unlock_s));
  CHECK(duration_s([&](Window& w) { w.lock(0, shared), w.accumulate(0, 0, data), w.unlock(0); }) ==
        Approx(lock_s + send_s + wire_s + sum_s + latency_s + unlock_s));
  // The unlock waits for what is over last, here not what was begun last.
  CHECK(duration_s([&](Window& w) {
          std::vector<float> word(1), more_than_word(500);
          w.lock(0, exclusive), w.put(0, 0, more_than_word), w.get(0, 600, word), w.unlock(0);
        }) == Approx(lock_s + send_s + (latency_s + 2e-6) + latency_s + unlock_s));
  CHECK(duration_s([&](Window& w) { w.fetch_add(0, 0, 1); }) == Approx(send_s + 2 * latency_s + receive_s));
  CHECK(duration_s([&](Window& w) { w.await_counter(0, 0); }) == 0);
}

TEST_CASE("the additions of several workers at one target follow each other, their lock is shared", "[sim]") {
  constexpr int workers = 4;
  constexpr std::size_t floats = 5000;  // 20 us on the wire, 60 us to add
  double ended_s = 0;
  run(with_overheads(workers), workers, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(floats, 0);
    if (worker.rank() == 0) return;
    const std::vector<float> mine(floats, 1);
    const double begin_s = worker.comm().now_s();
    comm::testing::locked(*window, 0, Window::Lock::shared, [&] { window->accumulate(0, 0, mine); });
    ended_s = std::max(ended_s, worker.comm().now_s() - begin_s);
  });
  // The messages share the link to worker 0, 20 us each, while the additions take longer.
  CHECK(ended_s == Approx(lock_s + send_s + latency_s + 20e-6 + 3 * 60e-6 + latency_s + send_s).epsilon(0.05));
}

TEST_CASE("exclusive locks are held one after the other, in the order of asking, at equal times of the ranks", "[sim]") {
  constexpr int workers = 5;
  constexpr double held_s = 40e-6;
  std::vector<int> order;
  std::vector<double> granted_s;
  run(with_overheads(workers), workers, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(1, 0);
    double begin_s = 10e-3;
    if (worker.rank() == 4) begin_s -= 1e-6;  // asks first
    pass_time(worker, static_cast<std::size_t>((begin_s - worker.comm().now_s()) / 4e-9 + 0.5));
    if (worker.rank() == 0) return;
    window->lock(0, Window::Lock::exclusive);
    order.push_back(worker.rank());
    granted_s.push_back(worker.comm().now_s());
    pass_time(worker, static_cast<std::size_t>(held_s / 4e-9 + 0.5));
    window->unlock(0);
  });
  CHECK(order == std::vector{4, 1, 2, 3});
  // From one to the next: the lock is held, its release travels, the grant travels.
  for (std::size_t i = 1; i < granted_s.size(); ++i)
    CHECK(granted_s[i] - granted_s[i - 1] == Approx(held_s + send_s + 2 * latency_s + receive_s));
}

TEST_CASE("shared locks are held at once, and none overtakes an exclusive one that was asked for before", "[sim]") {
  std::vector<std::pair<int, double>> granted;
  run(with_overheads(4), 4, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(1, 0);
    pass_time(worker, static_cast<std::size_t>((1e-3 - worker.comm().now_s()) / 4e-9) +
                          1000 * static_cast<std::size_t>(worker.rank()));
    if (worker.rank() == 3) return;
    const double begin_s = worker.comm().now_s();
    window->lock(3, worker.rank() == 1 ? Window::Lock::exclusive : Window::Lock::shared);
    granted.emplace_back(worker.rank(), worker.comm().now_s() - begin_s);
    pass_time(worker, 25000);  // 100 us
    window->unlock(3);
  });
  REQUIRE(granted.size() == 3);
  CHECK(granted[0].first == 0);
  CHECK(granted[1].first == 1);
  CHECK(granted[2].first == 2);
  CHECK(granted[0].second == Approx(lock_s));
  CHECK(granted[1].second > 90e-6);
  CHECK(granted[2].second > 190e-6);
}

TEST_CASE("a worker goes on the moment that its counter is high enough, or its limit is over", "[sim]") {
  double woken_s = 0, raised_s = 0, given_up_s = 0, begin_s = 0;
  run(with_overheads(2), 2, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(0, 1);
    if (worker.rank() == 1) {
      pass_time(worker, 25000);
      for (int i = 0; i < 3; ++i) window->fetch_add(0, 0, 2);
      raised_s = worker.comm().now_s() - receive_s - latency_s;
      return;
    }
    begin_s = worker.comm().now_s();
    CHECK(!window->await_counter_for(0, 1, 30e-6).has_value());
    given_up_s = worker.comm().now_s();
    CHECK(window->await_counter(0, 5) == 6);
    woken_s = worker.comm().now_s();
  });
  CHECK(given_up_s == Approx(begin_s + 30e-6));
  CHECK(woken_s == Approx(raised_s));
}

TEST_CASE("who waits for a counter does not go on as another rises", "[sim]") {
  double woken_s = 0, raised_s = 0;
  run(with_overheads(2), 2, {}, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(0, 2);
    if (worker.rank() == 0) {
      CHECK(window->await_counter(1, 5) == 5);
      woken_s = worker.comm().now_s();
      return;
    }
    window->fetch_add(0, 1, 4);
    window->fetch_add(0, 0, 9);
    pass_time(worker, 25000);
    window->fetch_add(0, 1, 1);
    raised_s = worker.comm().now_s() - receive_s - latency_s;
  });
  CHECK(woken_s == Approx(raised_s));
}

TEST_CASE("results and times with windows repeat and do not depend on host threads", "[sim][threads]") {
  constexpr int workers = 5;
  constexpr std::size_t length = 30000;
  const auto program = [&](int host_threads, const std::string& device) {
    std::vector<Time> ends(workers);
    std::vector<float> result;
    SimulationOptions options;
    options.host_threads = host_threads;
    options.device = device;
    run(with_overheads(workers), workers, options, [&](comm::Worker& worker) {
      auto gradient = worker.device().allocate(length), parameters = worker.device().allocate(length);
      const auto window = worker.comm().open_window(worker.rank() == 0 ? length : 0, 1);
      const core::RandomStream random(3, core::Purpose::generator, static_cast<std::uint32_t>(worker.rank()));
      for (std::uint32_t step = 0; step < 8; ++step) {
        comm::testing::locked(*window, 0, Window::Lock::shared, [&] { window->get(0, 0, parameters.span()); });
        const std::size_t part = 1000 + random.below(length - 1000, step);
        worker.compute({}, [&] {
          worker.device().run(backend::Scale{0.5f, parameters.span().first(part)});
          worker.device().run(backend::Fill{0.1f * static_cast<float>(worker.rank() + 1), gradient.span()});
          worker.device().run(backend::Add{parameters.span(), gradient.span()});
        });
        comm::testing::locked(*window, 0, Window::Lock::shared, [&] { window->accumulate(0, 0, gradient.span()); });
        window->fetch_add(0, 0, 1);
      }
      if (worker.rank() == 0) {
        window->await_counter(0, 8 * workers);
        if (worker.device().computes()) result.assign(window->memory().begin(), window->memory().end());
      }
      ends[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
    });
    return std::pair(ends, result);
  };
  const auto expected = program(1, "cpu");
  CHECK(expected.second.size() == length);
  for (const int threads : {2, 4}) CHECK(program(threads, "cpu") == expected);
  CHECK(program(1, "meta").first == expected.first);  // sizes alone: the same times
}

TEST_CASE("mistakes with windows are told", "[sim]") {
  const auto with_window = [](const std::function<void(Window&)>& mistake) {
    run(1, [&](comm::Worker& worker) { mistake(*worker.comm().open_window(1, 1)); });
  };
  std::vector<float> one(1);
  CHECK_THROWS_AS(with_window([&](Window& w) { w.get(0, 0, one); }), std::logic_error);
  CHECK_THROWS_AS(with_window([&](Window& w) { w.unlock(0); }), std::logic_error);
  CHECK_THROWS_AS(with_window([&](Window& w) { w.lock(1, Window::Lock::shared); }), std::logic_error);
  CHECK_THROWS_AS(with_window([&](Window& w) { w.lock(0, Window::Lock::shared), w.lock(0, Window::Lock::shared); }),
                  std::logic_error);
  REQUIRE_THROWS_WITH(with_window([&](Window& w) { w.await_counter(0, 1); }),
                      contains_text("waits for a counter that the others raise in the window of worker 0"));
}

TEST_CASE("a lock that is never given back, and a target that has died, are told", "[sim]") {
  REQUIRE_THROWS_WITH(run(2,
                          [](comm::Worker& worker) {
                            const auto window = worker.comm().open_window(1, 0);
                            window->lock(0, Window::Lock::exclusive);
                          }),
                      contains_text("waits for a lock on the window of worker 0"));
  Platform platform = with_overheads(2);
  platform.faults.push_back({.at_s = 1e-3, .kind = Platform::Fault::Kind::worker, .id = 0});
  REQUIRE_THROWS_WITH(run(platform, 2, {},
                          [](comm::Worker& worker) {
                            const auto window = worker.comm().open_window(1, 0);
                            if (worker.rank() == 0) return;
                            pass_time(worker, 500'000);  // 2 ms
                            window->lock(0, Window::Lock::shared);
                          }),
                      contains_text("worker 0 died at") && contains_text("a lock on the window of worker 0"));
}
