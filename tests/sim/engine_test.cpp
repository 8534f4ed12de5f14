#include "sim/engine/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "sanitized.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;

TEST_CASE("twenty thousand fibers can be made and run", "[sim]") {
  constexpr std::uint32_t fibers = 20'000;
  Engine engine(fibers, 1, 64 * 1024);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < fibers; ++i)
    engine.spawn(i, [&, i] {
      engine.sleep(fibers - i);
      sum += i;
    });
  engine.run();
  CHECK(sum == std::uint64_t{fibers} * (fibers - 1) / 2);
  CHECK(engine.now() == fibers);
}

TEST_CASE("thousands of workers agree on a sum", "[sim]") {
  constexpr int workers = 3000;
  int right = 0;
  run(free_platform(workers), workers, SimulationOptions{.device = "reference"}, [&](comm::Worker& worker) {
    double one = 1;
    comm::sum_in_rank_order(worker.comm(), {&one, 1});
    right += one == workers;
  });
  CHECK(right == workers);
}

namespace {

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

constexpr std::size_t deep = 40'000;  // bytes

[[gnu::noinline]] void go_deep() {
  std::array<volatile char, deep> local;
  std::fill(local.begin(), local.end(), 'x');
}

}  // namespace

TEST_CASE("a stack that was deep keeps what is in use and gives back the rest", "[sim]") {
  constexpr std::uint32_t fibers = 2'000;
  const auto resident_with = [&](bool releases) {
    Engine engine(fibers, 1, 64 * 1024);
    int intact = 0;
    std::size_t resident = 0;
    for (std::uint32_t i = 0; i < fibers; ++i)
      engine.spawn(i, [&, i] {
        std::array<std::uint32_t, 100> in_use;
        in_use.fill(i);
        go_deep();
        if (releases) engine.release_unused_stack();
        engine.sleep(1);
        if (i == 0) resident = resident_bytes();
        intact += std::ranges::count(in_use, i) == 100;
      });
    engine.run();
    CHECK(intact == fibers);
    return resident;
  };
  const std::size_t released = resident_with(true), kept = resident_with(false);
  CHECK(released + fibers * deep / 2 < kept);
}

TEST_CASE("fibers run in the order of time, then of actor", "[sim]") {
  Engine engine(3, 1);
  std::string order;
  for (const std::uint32_t actor : {2u, 0u, 1u})
    engine.spawn(actor, [&, actor] {
      order += static_cast<char>('a' + actor);
      engine.sleep(actor == 0 ? 5 : 3);
      order += static_cast<char>('A' + actor);
    });
  engine.run();
  CHECK(order == "abcBCA");
}

TEST_CASE("an engine that is not run gives its fibers back", "[sim]") {
  int ran = 0;
  {
    Engine engine(2, 1);
    engine.spawn(0, [&] { ++ran; });
    engine.spawn(1, [&] { ++ran; });
  }
  CHECK(ran == 0);
}

TEST_CASE("more fibers than promised, and events in the past, are broken contracts", "[sim]") {
  Engine engine(1, 1);
  engine.spawn(0, [&] { engine.sleep(-1); });
  CHECK_THROWS_AS(engine.spawn(1, [] {}), std::logic_error);
  CHECK_THROWS_AS(engine.run(), std::logic_error);
}

TEST_CASE("a fiber that is ahead of the others lets them catch up when it touches what they share", "[sim]") {
  Engine engine(2, 1);
  std::string order;
  engine.spawn(0, [&] {
    engine.pass(10);
    CHECK(engine.own_time() == 10);
    CHECK_THROWS_AS(engine.now(), std::logic_error);
    order += 'a';
    engine.settle();
    CHECK(engine.now() == 10);
    order += 'A';
    engine.pass(5);
  });
  engine.spawn(1, [&] {
    order += 'b';
    engine.sleep(9);
    order += 'B';
    CHECK(engine.now() == 9);
  });
  engine.run();
  CHECK(order == "abBA");
  CHECK(engine.now() == 15);
}

TEST_CASE("a failure has its place in simulated time even if the worker was ahead of the others", "[sim]") {
  Engine engine(2, 1);
  for (const std::uint32_t actor : {0u, 1u})
    engine.spawn(actor, [&, actor] {
      engine.pass(actor == 0 ? 20 : 10);
      throw std::runtime_error("fiber " + std::to_string(actor));
    });
  REQUIRE_THROWS_WITH(engine.run(), "fiber 1");
}

TEST_CASE("a stack that is too small is told where there are too many fibers for guard pages", "[sim]") {
  constexpr std::uint32_t fibers = 9000, hungry = 4000;
  if (sanitized) return;  // AddressSanitizer reports it itself
  constexpr std::size_t stack_bytes = 64 * 1024;
  Engine engine(fibers, 1, stack_bytes);
  for (std::uint32_t i = 0; i < fibers; ++i)
    engine.spawn(i, [&engine, i] {
      if (i != hungry) return;
      auto* const local = static_cast<volatile char*>(__builtin_alloca(stack_bytes));
      std::fill(local, local + 4096, 'x');  // reaches a little into a stack whose fiber has ended
      engine.sleep(1);
    });
  REQUIRE_THROWS_AS(engine.run(), StackOverflow);
}

TEST_CASE("durations are rounded once and at most half a picosecond off", "[sim]") {
  const double bytes_per_s = GENERATE(1e3, 125e6, 4.2e9, 6.39e9, 1e12);
  const std::int64_t bytes = GENERATE(0, 1, 4096, 262'144, 100'000'000);
  const long double exact = static_cast<long double>(bytes) * 1e12L / static_cast<long double>(bytes_per_s);
  const auto time = static_cast<long double>(InverseBandwidth(bytes_per_s).time_of(bytes));
  // The inverse itself is known to 2^-33 ps per byte.
  CHECK(static_cast<double>(std::abs(time - exact)) <= 0.5 + static_cast<double>(bytes) * 0x1p-33);
}
