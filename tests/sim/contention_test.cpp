// What messages share: NICs, sockets, leaf switches, the spine, host memory. Section 6.3 of the platform model.
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "sim/network/resources.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

constexpr Link fast{1e-7, 1e13};

// Every worker sends `bytes` to the one `distance` further, `steps` times in step.
Time shift_time(const Platform& platform, int distance, int steps, std::size_t bytes, const std::string& network = "fifo") {
  const int workers = platform.workers();
  return from_seconds(
      run(platform, workers, SimulationOptions{.device = "meta", .network = network}, [&](comm::Worker& worker) {
        std::vector<std::byte> out(bytes), in(bytes);
        const int to = (worker.rank() + distance) % workers, from = (worker.rank() + workers - distance) % workers;
        for (int step = 0; step < steps; ++step) {
          const auto receive = worker.comm().start_receive(from, 0, std::span(in));
          worker.comm().send(to, 0, std::span<const std::byte>(out));
          worker.comm().wait(receive);
        }
      }).makespan_s);
}

Time message_time(const Platform& platform, int from, int to, std::size_t bytes, const std::string& network = "fifo") {
  return from_seconds(run(platform, platform.workers(), SimulationOptions{.network = network}, [&](comm::Worker& worker) {
                        std::vector<std::byte> data(bytes);
                        if (worker.rank() == from) worker.comm().send(to, 0, std::span<const std::byte>(data));
                        if (worker.rank() == to) worker.comm().receive(from, 0, std::span(data));
                      }).makespan_s);
}

Platform with_leaves(int nodes, int per_leaf, double taper) {
  Platform platform = platform_of(nodes, 1, fast, {1e-6, 1e9});
  platform.nodes_per_leaf = per_leaf;
  platform.taper = taper;
  platform.core_latency_s = 2e-6;
  return platform;
}

}  // namespace

TEST_CASE("each level has its latency and bandwidth", "[sim]") {
  Platform platform = platform_of(4, 4, {1e-6, 10e9}, {5e-6, 3e9});
  platform.sockets_per_node = 2;
  platform.node = {{2e-6, 6e9}, 8e9};
  platform.nodes_per_leaf = 2;
  platform.core_latency_s = 7e-6;
  const auto [to, link] = GENERATE(table<int, Link>({{1, {1e-6, 10e9}},
                                                     {2, {2e-6, 6e9}},
                                                     {3, {2e-6, 6e9}},
                                                     {4, {5e-6, 3e9}},
                                                     {7, {5e-6, 3e9}},
                                                     {8, {7e-6, 3e9}},
                                                     {15, {7e-6, 3e9}}}));
  const std::size_t bytes = GENERATE(1u, 1'000'000u);
  const std::string model = GENERATE("fifo", "segmented");
  const Time time = message_time(platform, 0, to, bytes, model);
  CHECK(std::abs(static_cast<double>(time) - message_ps(link, static_cast<double>(bytes))) <= 1);
}

TEST_CASE("the sockets of a node share what connects them, per direction", "[sim]") {
  Platform platform = platform_of(1, 4, {1e-7, 1e12}, fast);
  platform.sockets_per_node = 2;
  platform.node = {{1e-6, 6e9}, 6e9};
  // 0 and 1 send to 2 and 3 and back: two flows in each direction.
  const double one = static_cast<double>(shift_time(platform, 2, 1, 3'000'000)) * 1e-12;
  CHECK(one == Approx(1e-6 + 2 * 3e6 / 6e9).epsilon(0.005));
  platform.node.shared_bytes_per_s = 12e9;  // room for both
  CHECK(to_seconds(shift_time(platform, 2, 1, 3'000'000)) == Approx(1e-6 + 3e6 / 6e9).epsilon(0.005));
  platform.node.shared_bytes_per_s = 0;  // no limit
  CHECK(to_seconds(shift_time(platform, 2, 1, 3'000'000)) == Approx(1e-6 + 3e6 / 6e9).epsilon(0.005));
}

TEST_CASE("messages to and from a socket without NIC cross what connects the sockets", "[sim]") {
  Platform platform = platform_of(2, 4, {1e-7, 1e12}, {1e-6, 1e9});
  platform.sockets_per_node = 2;  // the one NIC is at the first
  platform.node = {{2e-6, 5e8}, 5e8};
  CHECK(to_seconds(message_time(platform, 0, 4, 1'000'000)) == Approx(1e-6 + 1e6 / 1e9));
  CHECK(to_seconds(message_time(platform, 0, 7, 1'000'000)) == Approx(1e-6 + 1e6 / 5e8));
  CHECK(to_seconds(message_time(platform, 3, 4, 1'000'000)) == Approx(1e-6 + 1e6 / 5e8));
}

TEST_CASE("several NICs divide the devices of a node among them", "[sim]") {
  const int nics = GENERATE(1, 2, 4);
  Platform platform = platform_of(3, 4, fast, {1e-6, 1e9});
  platform.leaf.nics_per_node = nics;
  const double expected = 5 * (1e-6 + 4. / nics * 2e6 / 1e9);
  CHECK(to_seconds(shift_time(platform, 4, 5, 2'000'000)) == Approx(expected).epsilon(0.005));
}

TEST_CASE("the strided ring takes 2(N-1)(alpha + g n/(N B)), and B is the spine's where that is slower", "[sim]") {
  const int nodes = GENERATE(4, 8);
  constexpr int devices = 4;
  const double spine = GENERATE(0., 4e9, 2e9);
  Platform platform = platform_of(nodes, devices, {1e-7, 1e13}, {1e-6, 1e9});
  platform.nodes_per_leaf = 1;
  platform.core_latency_s = 1e-6;
  platform.spine_bytes_per_s = spine;
  const int workers = platform.workers();
  constexpr std::size_t stripe = 500'000;
  const Time time = shift_time(platform, devices, 2 * (workers - 1), stripe);
  const double per_step = std::max(devices * stripe / 1e9, spine == 0 ? 0 : workers * static_cast<double>(stripe) / spine);
  CHECK(to_seconds(time) == Approx(2 * (workers - 1) * (1e-6 + per_step)).epsilon(0.005));
}

TEST_CASE("tapered uplinks carry their share; without taper nobody waits for them", "[sim]") {
  constexpr int nodes = 16, per_leaf = 8, steps = 4;
  constexpr std::size_t bytes = 1'000'000;
  const double taper = GENERATE(1., 2., 4., 8.);
  const Platform platform = with_leaves(nodes, per_leaf, taper);
  // All 8 nodes of a leaf send to the other leaf at once.
  CHECK(to_seconds(shift_time(platform, per_leaf, steps, bytes)) ==
        Approx(steps * (2e-6 + taper * bytes / 1e9)).epsilon(0.005));
  // Inside a leaf the taper does not matter, but for the one that goes to the other leaf.
  CHECK(to_seconds(shift_time(platform, 1, 1, bytes)) == Approx(2e-6 + bytes / 1e9).epsilon(0.005));
}

TEST_CASE("the busiest link is in use for its bytes over its capacity", "[sim]") {
  const std::string network = GENERATE("fifo", "segmented");
  int steps = 3;
  const std::size_t bytes = 1'000'000;
  Platform platform = platform_of(4, 1, fast, {1e-6, 1e9});
  std::string link;
  double busy_s = steps * static_cast<double>(bytes) / 1e9;
  SECTION("NICs") { link = "NIC 0 of node 0, out"; }
  SECTION("devices") {
    platform.peer.bytes_per_s = 1e8;
    link = "link of device 0, out";
    busy_s *= 10;
  }
  SECTION("uplinks with two channels for four nodes") {
    platform = with_leaves(8, 4, 2);
    link = "uplinks of leaf switch 0, out";
    busy_s *= 2;
  }
  SECTION("a spine of one channel") {
    platform = with_leaves(8, 4, 1);
    platform.spine_bytes_per_s = 1e9;
    link = "spine";
    busy_s *= 8;
  }
  SECTION("the connection of the sockets") {
    platform = platform_of(1, 4, {1e-6, 1e12}, {});
    platform.sockets_per_node = 2;
    platform.node = {{1e-6, 1e9}, 1e9};
    link = "connection of the sockets of node 0, out";
    busy_s *= 2;
  }
  SECTION("a NIC at a tenth of its speed") {
    platform.faults.push_back({.at_s = 0, .kind = Platform::Fault::Kind::nic, .id = 2, .factor = 0.1});
    link = "NIC 0 of node 2, out";
    busy_s *= 10;
  }
  SECTION("a hundred channels, together for longer than 64 bits of picoseconds") {
    steps = 60;
    platform = with_leaves(200, 100, 1);
    platform.leaf.bytes_per_s = 1e3;
    platform.spine_bytes_per_s = 1e5;
    link = "spine";
    busy_s = 2 * steps * static_cast<double>(bytes) / 1e3;
  }
  const int workers = platform.workers(), distance = workers / 2;
  const Report report = run(platform, workers, {.device = "meta", .network = network}, [&](comm::Worker& worker) {
    std::vector<std::byte> out(bytes), in(bytes);
    for (int step = 0; step < steps; ++step) {
      const auto receive = worker.comm().start_receive((worker.rank() + distance) % workers, 0, std::span(in));
      worker.comm().send((worker.rank() + distance) % workers, 0, std::span<const std::byte>(out));
      worker.comm().wait(receive);
    }
  });
  CHECK(report.busiest_link == link);
  CHECK(report.busiest_share * report.makespan_s == Approx(busy_s).epsilon(0.002));
}

TEST_CASE("what sends nothing has no busiest link", "[sim]") {
  CHECK(run(3, [](comm::Worker&) {}).busiest_link.empty());
}

TEST_CASE("a leaf switch without taper changes nothing but the latency", "[sim]") {
  Platform one = platform_of(12, 2, {1e-6, 8e9}, {3e-6, 2e9});
  Platform many = one;
  many.nodes_per_leaf = 5;
  many.core_latency_s = one.leaf.latency_s;
  const int distance = GENERATE(1, 2, 3, 7, 12);
  CHECK(shift_time(one, distance, 3, 300'000) == shift_time(many, distance, 3, 300'000));
}

TEST_CASE("staged messages cross host memory twice per node", "[sim]") {
  Platform platform = platform_of(2, 2, {1e-6, 10e9}, {2e-6, 5e9});
  platform.host = {4e9, true, false};  // 2 GB/s for what is written and read
  CHECK(to_seconds(message_time(platform, 0, 1, 1'000'000)) == Approx(1e-6 + 1e6 / 2e9));
  CHECK(to_seconds(message_time(platform, 0, 2, 1'000'000)) == Approx(2e-6 + 1e6 / 2e9));
  // Two messages through one node's memory take turns.
  CHECK(to_seconds(shift_time(platform, 2, 1, 1'000'000)) == Approx(4 * 1e6 / 2e9 + 2e-6).epsilon(0.005));
}

TEST_CASE("a host that forms sums passes its memory three times", "[sim]") {
  Platform platform = platform_of(1, 2, fast, fast);
  platform.host = {6e9, false, true};
  const double time = run(platform, 2, SimulationOptions{.device = "reference"}, [&](comm::Worker& worker) {
                        std::vector<float> from(1000, 1.f), to(1000, 2.f);
                        worker.comm().add(from, to);
                        CHECK(to.back() == 3.f);
                      }).makespan_s;
  CHECK(time == Approx(2 * 3 * 4000 / 6e9));  // both at the same memory
}

TEST_CASE("a gap separates messages on what they share", "[sim]") {
  Platform platform = platform_of(3, 1, fast, {1e-6, 1e9}, 1 << 30);
  platform.message.gap_s = 5e-6;
  const Time time = from_seconds(run(platform, 3, {}, [](comm::Worker& worker) {
                                   std::vector<std::byte> data(1000);
                                   if (worker.rank() > 0) return worker.comm().send(0, 0, std::span<const std::byte>(data));
                                   worker.comm().receive(1, 0, std::span(data));
                                   worker.comm().receive(2, 0, std::span(data));
                                 }).makespan_s);
  CHECK(time == from_seconds(1e-6 + 2 * 1e-6 + 5e-6));
}

TEST_CASE("each channel of a shared resource rests for the gap between two messages", "[sim]") {
  Resources resources(7);
  const auto link = resources.add_shared(1, 2e9, 1e9);  // 2 channels
  const Time each = InverseBandwidth(1e9).time_of(1000);
  CHECK(resources.take(link, 0, 1000).begin == 0);
  CHECK(resources.take(link, 0, 1000).begin == 0);
  CHECK(resources.take(link, 0, 1000).begin == each + 7);
}

TEST_CASE("size classes scale latency and bandwidth from a size on", "[sim]") {
  Platform platform = platform_of(2, 1, fast, {10e-6, 1e9});
  platform.size_classes = {{1000, 2, 0.5}, {100'000, 3, 0.25}};
  CHECK(message_time(platform, 0, 1, 999) == from_seconds(10e-6 + 999e-9));
  CHECK(message_time(platform, 0, 1, 1000) == from_seconds(20e-6 + 2000e-9));
  CHECK(message_time(platform, 0, 1, 100'000) == from_seconds(30e-6 + 400'000e-9));
}

TEST_CASE("pieces of messages share a NIC, whole messages take turns", "[sim]") {
  // Workers 0 and 1 of one node send 8 MB and 1 MB to two other nodes at the same time.
  Platform platform = platform_of(3, 2, fast, {1e-6, 1e9});
  platform.message.segment_bytes = 100'000;
  const auto arrivals = [&](const std::string& model) {
    std::vector<double> at(6);
    run(platform, 6, SimulationOptions{.network = model}, [&](comm::Worker& worker) {
      const int rank = worker.rank();
      std::vector<std::byte> data(rank == 0 || rank == 2 ? 8'000'000 : 1'000'000);
      if (rank < 2) worker.comm().send(2 * rank + 2, 0, std::span<const std::byte>(data));
      if (rank == 2 || rank == 4) worker.comm().receive(rank / 2 - 1, 0, std::span(data));
      at[static_cast<std::size_t>(rank)] = worker.comm().now_s();
    });
    return at;
  };
  const auto whole = arrivals("fifo"), pieces = arrivals("segmented");
  CHECK(whole[4] == Approx(9e-3).epsilon(0.005));  // behind the long one
  CHECK(pieces[4] == Approx(2e-3).epsilon(0.15));  // half the NIC while both are there
  CHECK(whole[2] == Approx(8e-3).epsilon(0.005));
  CHECK(pieces[2] == Approx(9e-3).epsilon(0.005));
}

TEST_CASE("alone, a message in pieces takes as long as whole", "[sim]") {
  Platform platform = platform_of(2, 1, {1e-6, 3e9}, {5e-6, 2e9});
  if (GENERATE(false, true)) {  // the ends are sockets of one node, not nodes
    platform = platform_of(1, 2, {1e-6, 3e9}, {5e-6, 2e9});
    platform.sockets_per_node = 2;
    platform.node = {{2e-6, 2e9}, 8e9};
  }
  platform.message.segment_bytes = GENERATE(20'000, 65'536, 1'000'000);
  platform.message.window = GENERATE(2, 3, 100);
  const std::size_t bytes = GENERATE(1u, 20'001u, 1'999'999u);
  const Time whole = message_time(platform, 0, 1, bytes), pieces = message_time(platform, 0, 1, bytes, "segmented");
  CHECK(std::abs(whole - pieces) <= 100);  // one picosecond of rounding per piece
}

TEST_CASE("a sender in the segmented model goes on when its last piece has left", "[sim]") {
  Platform platform = platform_of(2, 1, {1e-6, 1e9}, {1e-3, 1e9});
  platform.message.segment_bytes = 1'000'000;
  platform.message.window = 2;
  double sent = 0, received = 0;
  run(platform, 2, SimulationOptions{.network = "segmented"}, [&](comm::Worker& worker) {
    std::vector<std::byte> data(10'000'000);
    if (worker.rank() == 0) {
      worker.comm().send(1, 0, std::span<const std::byte>(data));
      sent = worker.comm().now_s();
    } else {
      worker.comm().receive(0, 0, std::span(data));
      received = worker.comm().now_s();
    }
  });
  CHECK(received - sent == Approx(1e-3));
}

TEST_CASE("a resource with channels serves as many at a time", "[sim]") {
  Resources resources;
  const auto link = resources.add_shared(1, 10e9, 3e9);  // 3 channels of 3.33 GB/s
  const Time each = InverseBandwidth(10e9 / 3).time_of(1000);
  for (int i = 0; i < 7; ++i) {
    const auto use = resources.take(link, 0, 1000);
    CHECK(use.begin == i / 3 * each);
    CHECK(use.end == (i / 3 + 1) * each);
  }
  CHECK(resources.take(link, 1'000'000'000, 1000).begin == 1'000'000'000);
}
