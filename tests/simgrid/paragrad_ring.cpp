// The same ring on our simulator: the real transport, with every message a rendezvous as SimGrid's are.
#include <ctime>

#include "backend/kernels/fill.hpp"
#include "case.hpp"
#include "sim/simulation.hpp"

namespace paragrad::test {
namespace {

sim::Platform platform_of(const Case& ring) {
  sim::Platform platform;
  platform.name = "ring";
  platform.devices_per_node = Case::devices_per_node;
  platform.nodes = ring.workers / Case::devices_per_node;
  platform.device = {1e18, 4e9, 1, 1, 0};  // to fill a float takes a nanosecond: that is how a worker sleeps
  platform.peer = {2 * Case::hop_latency_s, Case::device_bytes_per_s};
  platform.leaf = {{4 * Case::hop_latency_s, Case::nic_bytes_per_s}, 1};
  platform.nodes_per_leaf = 1;  // every node at a switch of its own: all traffic between nodes crosses the spine
  platform.core_latency_s = platform.leaf.latency_s;
  platform.spine_bytes_per_s = ring.spine_bytes_per_s;
  platform.message.eager_bytes = 0;
  return platform;
}

void take_part(const Case& ring, comm::Worker& worker) {
  const int rank = worker.rank();
  const int to = (rank + ring.stride) % ring.workers, from = (rank + ring.workers - ring.stride) % ring.workers;
  const auto floats = static_cast<std::size_t>(ring.stripe_bytes()) / sizeof(float);
  core::Arena arena = worker.device().allocate(std::max(floats, static_cast<std::size_t>(Case::longest_delay_ns)));
  const auto stripe = std::as_writable_bytes(arena.span().first(floats));
  std::vector<comm::Request> sends;
  for (int step = 0; step < ring.steps(); ++step) {
    if (const std::int64_t delay = ring.delay_ns(rank, step); delay > 0)
      worker.run_kernels([&](backend::KernelQueue& queue) {
        queue.run(backend::Fill{0, arena.span().first(static_cast<std::size_t>(delay))});
      });
    const comm::Request receive = worker.comm().start_receive(from, 0, stripe);
    sends.push_back(worker.comm().start_send(to, 0, stripe));
    worker.comm().wait(receive);
  }
  for (const comm::Request send : sends) worker.comm().wait(send);
}

}  // namespace

Outcome in_paragrad(const Case& ring) {
  const std::clock_t start = std::clock();
  const sim::Report report = sim::run(platform_of(ring), ring.workers, sim::SimulationOptions{.device = "meta"},
                                      [&](comm::Worker& worker) { take_part(ring, worker); });
  return {report.makespan_s, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC};
}

}  // namespace paragrad::test
