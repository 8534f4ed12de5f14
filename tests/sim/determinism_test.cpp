#include <algorithm>
#include <numeric>

#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "core/philox.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/timed_fiber.hpp"
#include "sim/messages/transport.hpp"
#include "sim/network/network.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

struct Outcome {
  std::vector<std::vector<float>> data;
  std::vector<Time> ended;
  std::vector<int> served;  // sources in the order in which worker 0 heard of them
  double makespan_s = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Outcome&) const = default;
};

// Everything that could depend on who ran first: arithmetic on the host pool whose host time differs from its simulated
// time, reductions, and receives from any source.
Outcome train(int host_threads, std::uint64_t start_order = 0) {
  constexpr int workers = 6;
  constexpr std::size_t length = 40000;  // long enough for reductions to go to the host pool
  Platform platform = platform_of(3, 2, {3e-6, 6e9}, {9e-6, 2e9});
  platform.device = {1e12, 1e11, 0.5, 0.5, 2e-6};
  Outcome outcome;
  outcome.data.resize(workers);
  outcome.ended.resize(workers);
  SimulationOptions options;
  options.host_threads = host_threads;
  options.start_order = start_order;
  const auto allreduce = comm::make_allreduce("ring");
  const Report report = run(platform, workers, options, [&](comm::Worker& worker) {
    const int rank = worker.rank();
    const core::RandomStream random(5, core::Purpose::generator, static_cast<std::uint32_t>(rank));
    auto& mine = outcome.data[static_cast<std::size_t>(rank)];
    mine.resize(length);
    for (std::size_t i = 0; i < length; ++i) mine[i] = static_cast<float>(random.normal(i));
    for (std::uint64_t step = 0; step < 3; ++step) {
      const int kernels = 1 + static_cast<int>(random.below(5, 1'000'000 + step));
      worker.compute({}, [&] {
        for (int k = 0; k < kernels; ++k) worker.device().run(backend::Scale{0.9f, mine});
      });
      float word = static_cast<float>(rank);
      if (rank == 0) {
        for (int i = 1; i < workers; ++i)
          outcome.served.push_back(worker.comm().receive(comm::any_source, 3, std::span(&word, 1)).source);
      } else {
        worker.comm().send(0, 3, std::span<const float>(&word, 1));
      }
      (*allreduce)(worker.comm(), mine);
    }
    outcome.ended[static_cast<std::size_t>(rank)] = simulated_time(worker);
  });
  outcome.makespan_s = report.makespan_s;
  outcome.messages = report.messages;
  outcome.bytes = report.bytes;
  return outcome;
}

// Workers as bare fibers over a transport, started in a given order. Returns when each ended and whom it heard.
std::vector<std::pair<Time, std::vector<int>>> gossip(const std::vector<std::uint32_t>& start_order) {
  const int workers = static_cast<int>(start_order.size());
  const Platform platform = platform_of((workers + 1) / 2, 2, {1e-6, 5e9}, {2e-6, 1e9}, 1000);
  Engine engine(start_order.size(), 1);
  const auto network = make_network("fifo", engine, platform, workers);
  Carrier carrier(backend::make_device("cpu"));
  Transport transport(engine, *network, carrier, workers, platform.message);
  std::vector<std::pair<Time, std::vector<int>>> result(start_order.size());
  std::vector<std::vector<std::byte>> sent(start_order.size(), std::vector<std::byte>(4000));
  for (const std::uint32_t actor : start_order) {
    engine.spawn(actor, [&, rank = static_cast<int>(actor)] {
      std::vector<std::byte> received(4000);
      for (int round = 1; round < 4; ++round) {
        const auto bytes = static_cast<std::size_t>(500 * (1 + (rank * round) % 7));  // eager and rendezvous
        const auto data = std::span<const std::byte>(sent[static_cast<std::size_t>(rank)]).first(bytes);
        const auto first = transport.start_send(rank, (rank + round) % workers, 0, data);
        const auto second = transport.start_send(rank, (rank * 5 + round) % workers, 1, data);
        result[static_cast<std::size_t>(rank)].second.push_back(
            transport.wait(transport.start_receive(rank, comm::any_source, 0, received)).source);
        transport.wait(first);
        if (workers % 5 != 0)
          result[static_cast<std::size_t>(rank)].second.push_back(
              transport.wait(transport.start_receive(rank, comm::any_source, 1, received)).source);
        transport.wait(second);
        engine.sleep(static_cast<Time>(rank % 3) * 1000);
      }
      result[static_cast<std::size_t>(rank)].first = engine.now();
    });
  }
  engine.run();
  return result;
}

}  // namespace

TEST_CASE("what is computed and the simulated times do not depend on the number of host threads and repeat",
          "[sim][threads]") {
  const Outcome one = train(1);
  CHECK(one.makespan_s > 0);
  CHECK(train(1) == one);
  CHECK(train(2) == one);
  CHECK(train(4) == one);
}

TEST_CASE("the order in which the workers of a simulation are made changes nothing", "[sim][threads]") {
  const Outcome by_rank = train(2);
  for (const std::uint64_t order : {1u, 2u, 3u}) CHECK(train(2, order) == by_rank);
}

TEST_CASE("the order in which workers are started changes nothing", "[sim][threads]") {
  const std::uint32_t workers = GENERATE(2u, 7u, 12u);
  std::vector<std::uint32_t> order(workers);
  std::iota(order.begin(), order.end(), 0u);
  const auto expected = gossip(order);
  std::reverse(order.begin(), order.end());
  CHECK(gossip(order) == expected);
  for (std::uint32_t i = 0; i < 5; ++i)
    CHECK(gossip(core::RandomStream(1, core::Purpose::generator, i).permutation(workers)) == expected);
}
