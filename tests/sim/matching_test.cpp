// MPI's rules for who gets which message, and what "first" means in simulated time.
#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::any_source;

namespace {

constexpr int tag = 7;
constexpr std::size_t small = 16;         // eager
constexpr std::size_t large = 4'000'000;  // rendezvous

using Bytes = std::vector<std::byte>;

Bytes filled(std::size_t bytes, int mark) { return Bytes(bytes, static_cast<std::byte>(mark)); }

void send(comm::Worker& worker, int to, const Bytes& data) { worker.comm().send(to, tag, std::span<const std::byte>(data)); }

struct Got {
  int source;
  std::size_t bytes;
  int mark;
  bool operator==(const Got&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Got& got) {
  return out << "{from " << got.source << ", " << got.bytes << " bytes, mark " << got.mark << "}";
}

Got receive(comm::Worker& worker, int from) {
  Bytes data(large);
  const auto received = worker.comm().receive(from, tag, std::span(data));
  return {received.source, received.bytes, static_cast<int>(data[0])};
}

}  // namespace

TEST_CASE("a small message does not overtake a large one sent before it", "[sim]") {
  const int from = GENERATE(1, any_source);
  const bool receiver_late = GENERATE(false, true);
  std::vector<Got> got;
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 1) {
      const Bytes first = filled(large, 1), second = filled(small, 2), third = filled(large / 2, 3);
      std::vector<comm::Request> requests;
      for (const Bytes* data : {&first, &second, &third})
        requests.push_back(worker.comm().start_send(0, tag, std::span<const std::byte>(*data)));
      for (const auto request : requests) worker.comm().wait(request);
    } else {
      if (receiver_late) pass_time(worker, 20 * floats_per_us);
      for (int i = 0; i < 3; ++i) got.push_back(receive(worker, from));
    }
  });
  CHECK(got == std::vector<Got>{{1, large, 1}, {1, small, 2}, {1, large / 2, 3}});
}

TEST_CASE("messages of another tag may be taken first", "[sim]") {
  std::vector<int> got;
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    float word = 0;
    if (worker.rank() == 1) {
      for (const int t : {1, 2}) worker.comm().send(0, t, std::span<const float>(&(word = static_cast<float>(t)), 1));
    } else {
      for (const int t : {2, 1}) worker.comm().receive(1, t, std::span(&word, 1)), got.push_back(static_cast<int>(word));
    }
  });
  CHECK(got == std::vector<int>{2, 1});
}

TEST_CASE("a receive from any source takes what arrives first in simulated time", "[sim]") {
  const std::size_t bytes = GENERATE(small, large);
  const bool receiver_late = GENERATE(false, true);
  std::vector<int> order;
  run(timed(uncontended(5, wire)), 5, {}, [&](comm::Worker& worker) {
    const std::size_t wait_us[] = {0, 30, 10, 40, 20};  // by rank: 2, 4, 1, 3 send in this order
    if (worker.rank() > 0) {
      pass_time(worker, wait_us[worker.rank()] * floats_per_us);
      send(worker, 0, filled(bytes, 0));
    } else {
      if (receiver_late) pass_time(worker, 1000 * floats_per_us);
      for (int i = 0; i < 4; ++i) order.push_back(receive(worker, any_source).source);
    }
  });
  CHECK(order == std::vector<int>{2, 4, 1, 3});
}

TEST_CASE("the shorter of two messages that set out together arrives first", "[sim]") {
  std::vector<int> order;
  run(timed(uncontended(3, wire)), 3, {}, [&](comm::Worker& worker) {
    if (worker.rank() > 0) return send(worker, 0, filled(worker.rank() == 1 ? 60'000 : 100, 0));  // both eager
    for (int i = 0; i < 2; ++i) order.push_back(receive(worker, any_source).source);
  });
  // The NIC of worker 0 serves heads in order of arrival, ties by sender; the tails keep that order.
  CHECK(order == std::vector<int>{1, 2});
  order.clear();
  Platform slow_sender = timed(uncontended(3, wire));
  slow_sender.peer.bytes_per_s = 1e9;
  slow_sender.leaf.bytes_per_s = 1e15;
  run(slow_sender, 3, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 1) pass_time(worker, floats_per_us / 100);  // a little after worker 2
    if (worker.rank() > 0) return send(worker, 0, filled(100, 0));
    for (int i = 0; i < 2; ++i) order.push_back(receive(worker, any_source).source);
  });
  CHECK(order == std::vector<int>{2, 1});
}

TEST_CASE("messages that arrive together are taken in the order of ranks", "[sim]") {
  const std::int64_t eager = GENERATE(std::int64_t{0}, std::int64_t{65536});
  const bool receiver_late = GENERATE(false, true);
  Platform platform = free_platform(6);
  platform.message.eager_bytes = eager;
  platform.device = timed(uncontended(1, wire)).device;
  std::vector<int> order;
  run(platform, 6, {}, [&](comm::Worker& worker) {
    if (worker.rank() != 3) return send(worker, 3, filled(1, 0));
    if (receiver_late) pass_time(worker, floats_per_us);
    for (int i = 0; i < 5; ++i) order.push_back(receive(worker, any_source).source);
  });
  CHECK(order == std::vector<int>{0, 1, 2, 4, 5});
}

TEST_CASE("ties go by rank even when the higher rank sent earlier over a longer way", "[sim]") {
  // Nodes {0,1} and {2,3}. Worker 2 sends to 3 inside the node, 2 us; worker 0 sends 1 us later over the network, 1 us.
  Platform platform = platform_of(2, 2, {2e-6, 1e18}, {1e-6, 1e18});
  platform.device = timed(uncontended(1, wire)).device;
  int first = -1;
  Time when = 0;
  run(platform, 4, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 0) pass_time(worker, floats_per_us);
    if (worker.rank() == 0 || worker.rank() == 2) return send(worker, 3, filled(1, 0));
    if (worker.rank() != 3) return;
    first = receive(worker, any_source).source;
    when = simulated_time(worker);
    CHECK(receive(worker, any_source).source == 2);
    CHECK(simulated_time(worker) == when);
  });
  CHECK(when == 2'000'000);
  CHECK(first == 0);
}

TEST_CASE("two receives from any source that were posted before are served in order", "[sim]") {
  const std::size_t bytes = GENERATE(small, large);
  Bytes first(large), second(large);
  comm::Received by_first, by_second;
  run(timed(uncontended(3, wire)), 3, {}, [&](comm::Worker& worker) {
    if (worker.rank() > 0) {
      pass_time(worker, (worker.rank() == 1 ? 50 : 10) * floats_per_us);
      return send(worker, 0, filled(bytes, worker.rank()));
    }
    const auto a = worker.comm().start_receive(any_source, tag, std::span(first));
    const auto b = worker.comm().start_receive(any_source, tag, std::span(second));
    by_second = worker.comm().wait(b);
    by_first = worker.comm().wait(a);
  });
  CHECK(by_first.source == 2);
  CHECK(by_second.source == 1);
  CHECK(first[0] == std::byte{2});
  CHECK(second[0] == std::byte{1});
}

TEST_CASE("a named receive does not steal from an older receive from any source", "[sim]") {
  const std::size_t bytes = GENERATE(small, large);
  Bytes any_data(large), named_data(large);
  comm::Received by_any, by_named;
  run(timed(uncontended(3, wire)), 3, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 2) return;
    if (worker.rank() == 1) {
      send(worker, 0, filled(bytes, 1));
      return send(worker, 0, filled(bytes, 2));
    }
    const auto a = worker.comm().start_receive(any_source, tag, std::span(any_data));
    const auto b = worker.comm().start_receive(1, tag, std::span(named_data));
    by_named = worker.comm().wait(b);
    by_any = worker.comm().wait(a);
  });
  CHECK(any_data[0] == std::byte{1});
  CHECK(named_data[0] == std::byte{2});
}

TEST_CASE("an older named receive keeps its source's message from a younger receive from any source", "[sim]") {
  std::vector<Got> got;
  run(timed(uncontended(3, wire)), 3, {}, [&](comm::Worker& worker) {
    if (worker.rank() > 0) {
      pass_time(worker, (worker.rank() == 1 ? 5 : 50) * floats_per_us);
      return send(worker, 0, filled(small, worker.rank()));
    }
    Bytes named(small), any(small);
    const auto a = worker.comm().start_receive(1, tag, std::span(named));
    const auto b = worker.comm().start_receive(any_source, tag, std::span(any));
    CHECK(worker.comm().wait(a).source == 1);
    CHECK(worker.comm().wait(b).source == 2);
  });
}

TEST_CASE("a worker may send to itself", "[sim]") {
  const std::size_t bytes = GENERATE(small, large);
  run(timed(uncontended(1, wire)), 1, {}, [&](comm::Worker& worker) {
    const Bytes data = filled(bytes, 9);
    Bytes into(bytes);
    const auto receive = worker.comm().start_receive(0, tag, std::span(into));
    send(worker, 0, data);
    worker.comm().wait(receive);
    CHECK(into == data);
  });
}

TEST_CASE("an eager send is over at once, a rendezvous when the receiver has come and the data is out", "[sim]") {
  Time eager_over = -1, rendezvous_over = -1;
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 1) {
      pass_time(worker, 100 * floats_per_us);
      receive(worker, 0);
      receive(worker, 0);
      return;
    }
    send(worker, 1, filled(small, 0));
    eager_over = simulated_time(worker);
    send(worker, 1, filled(large, 0));
    rendezvous_over = simulated_time(worker);
  });
  CHECK(eager_over == 0);
  CHECK(rendezvous_over == 100'000'000 + 4'000'000'000);  // 100 us, then 4 MB at 1 GB/s
}

TEST_CASE("a sender may change an eager message's memory after the send", "[sim]") {
  int got = 0;
  run(timed(uncontended(2, wire)), 2, {}, [&](comm::Worker& worker) {
    if (worker.rank() == 1) return (void)(got = receive(worker, 0).mark);
    Bytes data = filled(small, 1);
    send(worker, 1, data);
    data.assign(small, std::byte{2});
  });
  CHECK(got == 1);
}

TEST_CASE("a message longer than the receive's buffer is a broken contract", "[sim]") {
  const std::size_t bytes = GENERATE(small, large);
  CHECK_THROWS_AS(run(timed(uncontended(2, wire)), 2, {},
                      [&](comm::Worker& worker) {
                        Bytes data(bytes - (worker.rank() == 1 ? 1 : 0));
                        if (worker.rank() == 0) send(worker, 1, data);
                        if (worker.rank() == 1) worker.comm().receive(0, tag, std::span(data));
                      }),
                  std::logic_error);
}
