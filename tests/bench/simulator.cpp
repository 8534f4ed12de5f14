// What the simulator costs: host time per message of an allreduce and per fiber, and both as multiples of one push and pop
// on a plain priority queue in the same run, so that the figures mean something on any machine. Processor time, so that
// other jobs disturb it less; best of several runs.

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <queue>
#include <tuple>

#include "comm/allreduce.hpp"
#include "core/format.hpp"
#include "sim/engine/engine.hpp"
#include "sim/simulation.hpp"

namespace {

using namespace paragrad;

constexpr int rounds = 3;
constexpr std::size_t floats = 25'000'000;  // 100 MB

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double best_of(const std::function<void()>& run) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double start = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

/// Seconds per pop and push, 1024 events in the queue.
double plain_queue() {
  struct Event {
    std::int64_t time;
    std::uint64_t order, handler, argument;
    bool operator>(const Event& other) const { return std::tie(time, order) > std::tie(other.time, other.order); }
  };
  constexpr std::uint64_t size = 1024, operations = 1'000'000;
  return best_of([] {
           std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
           for (std::uint64_t i = 0; i < size; ++i) queue.push({static_cast<std::int64_t>(i), i, i, i});
           for (std::uint64_t i = 0; i < operations; ++i) {
             Event event = queue.top();
             queue.pop();
             event.time += static_cast<std::int64_t>(1 + i * 2654435761 % 100'000);
             event.order = size + i;
             queue.push(event);
           }
         }) /
         operations;
}

/// Eight devices per node on links of 12 GB/s, one NIC of 6 GB/s.
sim::Platform cluster(int workers) {
  sim::Platform platform;
  platform.name = "bench";
  platform.nodes = (workers + 7) / 8;
  platform.devices_per_node = 8;
  platform.device = {1e13, 5e11, 1, 1, 5e-6};
  platform.peer = {5e-7, 12e9};
  platform.leaf = {{5e-7, 6e9}, 1};
  return platform;
}

void measure_messages(const std::string& algorithm, int workers, double unit_s, const char* target) {
  const auto allreduce = comm::make_allreduce(algorithm);
  sim::SimulationOptions options;
  options.device = "meta";
  options.shortcuts = false;
  sim::Report report;
  const double seconds = best_of([&] {
    report = sim::run(cluster(workers), workers, options, [&](comm::Worker& worker) {
      core::Arena data = worker.device().allocate(floats);
      (*allreduce)(worker.comm(), data.span());
    });
  });
  const double per_message = seconds / static_cast<double>(report.messages);
  fmt::print(
      "{:<17} {:>5} workers  {:>8} messages  {:>5.2f} events  {:>6.3f} us  {:>5.1f} queue operations per message  {}\n",
      algorithm, workers, report.messages, static_cast<double>(report.events) / static_cast<double>(report.messages),
      1e6 * per_message, per_message / unit_s, target);
}

/// One device per node: where nobody is in anybody's way, an allreduce is worked out at once.
double at_once(int workers, bool shortcuts) {
  sim::Platform platform = cluster(8);
  platform.nodes = workers;
  platform.devices_per_node = 1;
  sim::SimulationOptions options;
  options.device = "meta";
  options.shortcuts = shortcuts;
  const auto allreduce = comm::make_allreduce("halving_doubling");
  const double start = cpu_seconds();
  const sim::Report report = sim::run(platform, workers, options, [&](comm::Worker& worker) {
    core::Arena data = worker.device().allocate(floats);
    (*allreduce)(worker.comm(), data.span());
  });
  if (shortcuts && report.shortcuts == 0) fmt::print("this was not worked out at once: ");
  return cpu_seconds() - start;
}

void measure_shortcuts() {
  constexpr int few = 4096, many = 131'072;
  const double message_by_message = at_once(few, false), together = at_once(few, true);
  fmt::print("halving_doubling {:>7} workers, one per node, at once: {:.3f} s, {:.1f} times as fast as message by message\n",
             few, together, message_by_message / together);
  fmt::print("halving_doubling {:>7} workers, one per node, at once: {:.2f} s\n", many, at_once(many, true));
}

std::uint64_t resident_bytes() {
  std::uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void measure_fibers() {
  constexpr std::uint32_t fibers = 100'000;
  std::uint64_t bytes = 0;
  double made = 1e9;
  const double all = best_of([&] {
    const std::uint64_t before = resident_bytes();
    const double start = cpu_seconds();
    sim::Engine engine(fibers, 1);
    for (std::uint32_t i = 0; i < fibers; ++i) engine.spawn(i, [&engine] { engine.sleep(1); });
    made = std::min(made, cpu_seconds() - start);
    engine.run();
    bytes = resident_bytes() - before;
  });
  fmt::print(
      "{} fibers: made in {:.3f} s (target: below 1), made, run and ended in {:.3f} s; {} bytes each, {:.2f} GB "
      "(target: below 1)\n",
      fibers, made, all, bytes / fibers, static_cast<double>(bytes) * 1e-9);
}

}  // namespace

int main() {
  measure_fibers();
  const double unit_s = plain_queue();
  fmt::print("allreduce of 100 MB, timing mode; one pop and push on a plain queue: {:.3f} us\n", 1e6 * unit_s);
  for (const int workers : {64, 256, 1024})
    measure_messages("ring", workers, unit_s, workers == 1024 ? "target: at most 1 us" : "");
  for (const char* algorithm : {"halving_doubling", "butterfly", "parameter_server"})
    measure_messages(algorithm, 1024, unit_s, "");
  measure_shortcuts();
  return 0;
}
