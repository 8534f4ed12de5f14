// What messages cost the processors at both ends: the formulas of Transport, computed here by hand.
#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

constexpr Time us = 1'000'000;
constexpr Time latency = 2 * us;
constexpr std::size_t small_bytes = 1000;       // eager: 1 us on the wire, 0.5 us per copy
constexpr std::size_t large_bytes = 1'000'000;  // rendezvous: 1000 us on the wire

Platform with_costs() {
  Platform platform = timed(uncontended(2, {2e-6, 1e9}));
  platform.message.send_overhead_s = 3e-6;
  platform.message.receive_overhead_s = 5e-6;
  platform.message.copy_bytes_per_s = 2e9;
  return platform;
}

struct Times {
  Time sender = 0;
  Time receiver = 0;
};

Times one_message(const Platform& platform, std::size_t bytes, std::size_t sender_late_us, std::size_t receiver_late_us) {
  Times times;
  run(platform, 2, {}, [&](comm::Worker& worker) {
    std::vector<std::byte> data(bytes);
    if (worker.rank() == 0) {
      pass_time(worker, sender_late_us * floats_per_us);
      worker.comm().send(1, 0, std::span<const std::byte>(data));
      times.sender = simulated_time(worker);
    } else {
      pass_time(worker, receiver_late_us * floats_per_us);
      worker.comm().receive(0, 0, std::span(data));
      times.receiver = simulated_time(worker);
    }
  });
  return times;
}

}  // namespace

TEST_CASE("an eager message costs its sender overhead and copy, its receiver overhead, and a copy if it came first",
          "[sim]") {
  const Times expected = one_message(with_costs(), small_bytes, 0, 0);
  CHECK(expected.sender == 3 * us + us / 2);
  CHECK(expected.receiver == expected.sender + latency + 1 * us + 5 * us);
  const Times unexpected = one_message(with_costs(), small_bytes, 0, 100);
  CHECK(unexpected.sender == expected.sender);
  CHECK(unexpected.receiver == 100 * us + 5 * us + us / 2);
  const Times in_time = one_message(with_costs(), small_bytes, 0, 6);  // after the sending, before the arrival at 6.5 us
  CHECK(in_time.receiver == expected.receiver);
}

TEST_CASE("an eager message that arrives the moment that it is received did not come first", "[sim]") {
  Platform platform = with_costs();
  platform.message.copy_bytes_per_s = 1e9;  // 1 us, so that it arrives at 7 us
  CHECK(one_message(platform, small_bytes, 0, 6).receiver == (7 + 5) * us);
  CHECK(one_message(platform, small_bytes, 0, 7).receiver == (7 + 5) * us);
  CHECK(one_message(platform, small_bytes, 0, 8).receiver == (8 + 5 + 1) * us);
}

TEST_CASE("a rendezvous departs when both are ready, with handshake two crossings later", "[sim]") {
  const bool handshake = GENERATE(false, true);
  const std::size_t sender_late = GENERATE(0u, 50u);
  const std::size_t receiver_late = GENERATE(0u, 4u, 5u, 50u);
  CAPTURE(handshake, sender_late, receiver_late);
  Platform platform = with_costs();
  platform.message.handshake = handshake;
  const Times times = one_message(platform, large_bytes, sender_late, receiver_late);
  const Time posted = static_cast<Time>(sender_late) * us + 3 * us;
  const Time wanted = static_cast<Time>(receiver_late) * us;
  const Time departure = handshake ? std::max(posted + latency, wanted) + latency : std::max(posted, wanted);
  CHECK(times.sender == departure + 1000 * us);
  CHECK(times.receiver == departure + latency + 1000 * us + 5 * us);
}

TEST_CASE("overheads of several messages add up on the processor that has them", "[sim]") {
  Time sent = 0, received = 0;
  run(with_costs(), 2, {}, [&](comm::Worker& worker) {
    std::vector<std::byte> data(small_bytes);
    std::vector<comm::Request> requests;
    for (int i = 0; i < 10; ++i)
      requests.push_back(worker.rank() == 0 ? worker.comm().start_send(1, 0, std::span<const std::byte>(data))
                                            : worker.comm().start_receive(0, 0, std::span(data)));
    for (const auto request : requests) worker.comm().wait(request);
    (worker.rank() == 0 ? sent : received) = simulated_time(worker);
  });
  CHECK(sent == 10 * (3 * us + us / 2));
  CHECK(received == (3 * us + us / 2) + latency + 1 * us + 10 * 5 * us);  // all but the first wait for the processor
}

TEST_CASE("a program that reads the clock until a time has passed comes to an end", "[sim]") {
  int readings = 0;
  const Report report = run(1, [&](comm::Worker& worker) {
    while (worker.comm().now_s() < 1e-3) ++readings;
  });
  CHECK(readings < 10'000);
  CHECK(report.makespan_s >= 1e-3);
}

TEST_CASE("reading the clock now and then takes no time", "[sim]") {
  const Report report = run(1, [&](comm::Worker& worker) {
    for (int i = 0; i < 100; ++i) worker.comm().now_s();
  });
  CHECK(report.makespan_s == 0);
}
