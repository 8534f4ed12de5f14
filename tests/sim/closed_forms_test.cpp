// The formulas of a network without contention, and of shared NICs.
#include <algorithm>
#include <bit>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

Time makespan(const Platform& platform, int workers, const std::function<void(comm::Worker&)>& body) {
  return from_seconds(run(platform, workers, SimulationOptions{}, body).makespan_s);
}

Time allreduce_time(const Platform& platform, int workers, const char* name, std::size_t floats) {
  const auto allreduce = comm::make_allreduce(name);
  return makespan(platform, workers, [&](comm::Worker& worker) {
    std::vector<float> data(floats, 1.f);
    (*allreduce)(worker.comm(), data);
  });
}

// `steps` times one message to `to` and one from `from`, all at once.
void shift(comm::Worker& worker, int to, int from, int steps, std::size_t bytes) {
  std::vector<std::byte> out(bytes), in(bytes);
  for (int step = 0; step < steps; ++step) {
    const auto receive = worker.comm().start_receive(from, 0, std::span(in));
    worker.comm().send(to, 0, std::span<const std::byte>(out));
    worker.comm().wait(receive);
  }
}

}  // namespace

TEST_CASE("a ping-pong takes 2(alpha + n/B), eager or not, inside a node or between nodes", "[sim]") {
  const auto [bytes, eager] = GENERATE(table<std::size_t, std::int64_t>(
      {{0, 65536}, {1, 0}, {1, 65536}, {65536, 65536}, {65537, 65536}, {3'000'001, 0}, {3'000'001, 1 << 30}}));
  const int peer = GENERATE(1, 2);
  const Link inside{0.7e-6, 11.3e9}, between{9.3e-6, 4.2e9};
  const Platform platform = platform_of(2, 2, inside, between, eager);
  constexpr int rounds = 3;
  const Time time = makespan(platform, 4, [&](comm::Worker& worker) {
    std::vector<std::byte> data(bytes);
    for (int round = 0; round < rounds; ++round) {
      if (worker.rank() == 0) {
        worker.comm().send(peer, 0, std::span<const std::byte>(data));
        worker.comm().receive(peer, 0, std::span(data));
      } else if (worker.rank() == peer) {
        worker.comm().receive(0, 0, std::span(data));
        worker.comm().send(0, 0, std::span<const std::byte>(data));
      }
    }
  });
  const double step = message_ps(peer == 1 ? inside : between, static_cast<double>(bytes));
  CHECK(std::abs(static_cast<double>(time) - 2 * rounds * step) <= 2 * rounds);  // 1 ps per step
}

TEST_CASE("the slowest hop sets the bandwidth of a path", "[sim]") {
  const Platform platform = platform_of(2, 1, {1e-6, 1e9}, {2e-6, 3e9});  // device link slower than the NIC
  const Time time = makespan(platform, 2, [](comm::Worker& worker) {
    std::vector<std::byte> data(1'000'000);
    if (worker.rank() == 0) worker.comm().send(1, 0, std::span<const std::byte>(data));
    if (worker.rank() == 1) worker.comm().receive(0, 0, std::span(data));
  });
  CHECK(std::abs(static_cast<double>(time) - (2e-6 + 1e6 / 1e9) * 1e12) <= 1);
}

TEST_CASE("the ring allreduce takes 2(N-1)(alpha + n/(N B))", "[sim]") {
  const int workers = GENERATE(1, 2, 3, 4, 7, 16);
  const std::size_t floats_per_stripe = GENERATE(1u, 1000u, 65536u);  // the last: one whole segment
  const std::int64_t eager = GENERATE(0, 1 << 30);
  const Link link{1.25e-6, 6.39e9};
  const Time time = allreduce_time(uncontended(workers, link, eager), workers, "ring",
                                   static_cast<std::size_t>(workers) * floats_per_stripe);
  const int steps = 2 * (workers - 1);
  CHECK(std::abs(static_cast<double>(time) - steps * message_ps(link, 4. * static_cast<double>(floats_per_stripe))) <=
        steps);
}

TEST_CASE("recursive doubling takes log2 N (alpha + n/B)", "[sim]") {
  const unsigned workers = GENERATE(1u, 2u, 4u, 8u, 32u);
  const std::size_t floats = GENERATE(1u, 5000u, 65536u);
  const Link link{5e-6, 1.7e9};
  const Time time =
      allreduce_time(uncontended(static_cast<int>(workers), link), static_cast<int>(workers), "butterfly", floats);
  const int steps = std::countr_zero(workers);
  CHECK(std::abs(static_cast<double>(time) - steps * message_ps(link, 4. * static_cast<double>(floats))) <= steps);
}

TEST_CASE("halving and doubling takes 2 log2 N alpha + 2(N-1)/N n/B", "[sim]") {
  const unsigned workers = GENERATE(2u, 4u, 8u);
  const Link link{5e-6, 1.7e9};
  const std::size_t floats = 65536;
  const Time time =
      allreduce_time(uncontended(static_cast<int>(workers), link), static_cast<int>(workers), "halving_doubling", floats);
  const int steps = 2 * std::countr_zero(workers);
  const double bytes = 4. * static_cast<double>(floats);
  const double expected = (steps * link.latency_s + 2 * (workers - 1.) / workers * bytes / link.bytes_per_s) * 1e12;
  CHECK(std::abs(static_cast<double>(time) - expected) <= steps);
}

TEST_CASE("a binomial broadcast takes ceil(log2 N)(alpha + n/B)", "[sim]") {
  const int workers = GENERATE(1, 2, 3, 4, 7, 8, 13);
  const std::size_t bytes = GENERATE(8u, 200'000u);
  const Link link{2e-6, 5e9};
  const Time time = makespan(uncontended(workers, link), workers, [&](comm::Worker& worker) {
    std::vector<std::byte> data(bytes);
    int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(workers)));
    for (; distance > 1; distance /= 2) {  // farthest first
      const int half = distance / 2;
      if (worker.rank() % distance == 0 && worker.rank() + half < workers)
        worker.comm().send(worker.rank() + half, 0, std::span<const std::byte>(data));
      if (worker.rank() % distance == half) worker.comm().receive(worker.rank() - half, 0, std::span(data));
    }
  });
  const int steps = std::countr_zero(std::bit_ceil(static_cast<unsigned>(workers)));
  CHECK(static_cast<double>(time) <= steps * (message_ps(link, static_cast<double>(bytes)) + 1));
  if (std::has_single_bit(static_cast<unsigned>(workers)))
    CHECK(static_cast<double>(time) >= steps * (message_ps(link, static_cast<double>(bytes)) - 1));
}

TEST_CASE("the devices of a node share its NIC: g flows take g times as long", "[sim]") {
  const int devices = GENERATE(1, 2, 4);
  constexpr int nodes = 3, steps = 5;
  constexpr std::size_t bytes = 2'000'000;
  const Link inside{1e-7, 1e12}, between{1e-6, 1e9};
  const int workers = nodes * devices;
  const Time time = makespan(platform_of(nodes, devices, inside, between), workers, [&](comm::Worker& worker) {
    shift(worker, (worker.rank() + devices) % workers, (worker.rank() + workers - devices) % workers, steps, bytes);
  });
  const double expected = steps * (between.latency_s + devices * static_cast<double>(bytes) / between.bytes_per_s);
  CHECK(to_seconds(time) == Approx(expected).epsilon(0.005));
}

// Arrival of step s at r: a(r, s) = max(a(r-1, s-1) + alpha + d, a(r, s-1) + d) with alpha and d = n/B of the hop from r-1.
// Latencies of slow hops hide behind the waiting for slower ones, so this lies below 2(N-1)(alpha + d) of the slowest hop.
TEST_CASE("a ring in rank order over nodes follows its recurrence, and each NIC carries one flow", "[sim]") {
  const int nodes = GENERATE(2, 3, 5), devices = GENERATE(1, 2, 4), workers = nodes * devices;
  const int nodes_per_leaf = GENERATE(0, 1);
  const double floats_per_stripe = GENERATE(1, 50'000);
  Platform platform = platform_of(nodes, devices, {1e-7, 10e9}, {3e-6, 3e9}, 1 << 30);
  platform.nodes_per_leaf = nodes_per_leaf;
  platform.core_latency_s = 7e-6;
  const Link between{nodes_per_leaf == 0 ? platform.leaf.latency_s : platform.core_latency_s, platform.leaf.bytes_per_s};
  const int steps = 2 * (workers - 1);
  std::vector<double> arrival(static_cast<std::size_t>(workers), 0);
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> before = arrival;
    for (int rank = 0; rank < workers; ++rank) {
      const auto at = [&](int r) { return before[static_cast<std::size_t>((r + workers) % workers)]; };
      const Link hop = rank % devices == 0 ? between : platform.peer;
      const double own = step == 0 ? 0 : at(rank) + message_ps({0, hop.bytes_per_s}, 4 * floats_per_stripe);
      arrival[static_cast<std::size_t>(rank)] = std::max(at(rank - 1) + message_ps(hop, 4 * floats_per_stripe), own);
    }
  }
  const double expected = *std::max_element(arrival.begin(), arrival.end());
  const Time time = allreduce_time(platform, workers, "ring", static_cast<std::size_t>(workers * floats_per_stripe));
  CHECK(std::abs(static_cast<double>(time) - expected) <= steps);
  CHECK(expected <= steps * message_ps(between, 4 * floats_per_stripe) * (1 + 1e-12));
}

TEST_CASE("all workers that write to one server wait for its NIC: alpha + W n/B", "[sim]") {
  constexpr int writers = 6;
  constexpr std::size_t bytes = 5'000'000;
  const Link link{1e-6, 2e9};
  const Time time = makespan(uncontended(writers + 1, link), writers + 1, [&](comm::Worker& worker) {
    std::vector<std::byte> data(bytes);
    if (worker.rank() > 0) return worker.comm().send(0, 0, std::span<const std::byte>(data));
    std::vector<std::vector<std::byte>> arrived(writers, data);
    std::vector<comm::Request> requests;
    for (int from = 1; from <= writers; ++from)
      requests.push_back(worker.comm().start_receive(from, 0, std::span(arrived[static_cast<std::size_t>(from - 1)])));
    for (const auto request : requests) worker.comm().wait(request);
  });
  const double expected = (link.latency_s + writers * static_cast<double>(bytes) / link.bytes_per_s) * 1e12;
  CHECK(std::abs(static_cast<double>(time) - expected) <= writers);
}
