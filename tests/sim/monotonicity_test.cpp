// Time never falls when a platform gets worse.
#include <array>
#include <cmath>
#include <filesystem>

#include "backend/kernels/scale.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, core::Purpose::generator) {}

  double between(double low, double high) { return low * std::pow(high / low, random_.uniform(next_++)); }
  int whole(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<std::uint64_t>(high - low + 1), next_++));
  }

 private:
  core::RandomStream random_;
  std::uint64_t next_ = 0;
};

Platform drawn(Draws& draw) {
  Platform platform;
  platform.name = "drawn";
  platform.nodes = draw.whole(1, 5);
  platform.devices_per_node = draw.whole(1, 4);
  platform.sockets_per_node = draw.whole(1, std::min(2, platform.devices_per_node));
  platform.nodes_per_leaf = draw.whole(1, 3);
  platform.taper = draw.whole(0, 1) == 0 ? 1 : draw.between(1, 3);
  platform.device = {draw.between(1e11, 1e13), draw.between(1e9, 1e12), 0.7, 0.7, draw.between(1e-7, 1e-5)};
  platform.peer = {draw.between(1e-7, 1e-5), draw.between(1e8, 1e11)};
  platform.node = {{draw.between(1e-7, 1e-5), draw.between(1e8, 1e11)}, draw.between(1e8, 1e11)};
  platform.leaf = {{draw.between(1e-7, 1e-4), draw.between(1e8, 1e11)}, draw.whole(1, platform.devices_per_node)};
  platform.core_latency_s = draw.between(1e-7, 1e-4);
  platform.spine_bytes_per_s = draw.whole(0, 1) == 0 ? 0 : draw.between(1e8, 1e11);
  platform.message.eager_bytes = static_cast<std::int64_t>(draw.between(1, 1e6));
  platform.message.gap_s = draw.whole(0, 1) * draw.between(1e-8, 1e-6);
  platform.message.send_overhead_s = draw.between(1e-8, 1e-6);
  platform.message.receive_overhead_s = draw.between(1e-8, 1e-6);
  platform.message.copy_bytes_per_s = draw.between(1e9, 1e10);
  platform.message.handshake = draw.whole(0, 1) == 1;
  platform.host = {draw.between(1e9, 1e11), draw.whole(0, 1) == 1, draw.whole(0, 1) == 1};
  platform.noise = {static_cast<std::uint64_t>(draw.whole(0, 1000)), draw.between(0.001, 0.3), draw.between(0.001, 0.3)};
  return platform;
}

struct Training {
  const char* collective;
  std::size_t floats;
};

// Three minibatches with an allreduce after each, the pattern of data parallelism.
double time_of(const Platform& platform, const Training& training, const std::string& network) {
  const auto allreduce = comm::make_allreduce(training.collective);
  return run(platform, platform.workers(), SimulationOptions{.device = "meta", .network = network},
             [&](comm::Worker& worker) {
               std::vector<float> data(training.floats);
               for (int step = 0; step < 3; ++step) {
                 worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Scale{2, data}); });
                 (*allreduce)(worker.comm(), data);
               }
             })
      .makespan_s;
}

struct Change {
  const char* what;
  std::function<void(Platform&, double)> worsen;  // by a factor above 1
};

const std::vector<Change> changes{
    {"device.peak", [](Platform& p, double f) { p.device.flops_per_s /= f; }},
    {"device.memory_bandwidth", [](Platform& p, double f) { p.device.bytes_per_s /= f; }},
    {"device.launch", [](Platform& p, double f) { p.device.launch_s *= f; }},
    {"peer.latency", [](Platform& p, double f) { p.peer.latency_s *= f; }},
    {"peer.bandwidth", [](Platform& p, double f) { p.peer.bytes_per_s /= f; }},
    {"node.latency", [](Platform& p, double f) { p.node.latency_s *= f; }},
    {"node.bandwidth", [](Platform& p, double f) { p.node.bytes_per_s /= f; }},
    {"node.shared_bandwidth", [](Platform& p, double f) { p.node.shared_bytes_per_s /= f; }},
    {"leaf.latency", [](Platform& p, double f) { p.leaf.latency_s *= f; }},
    {"leaf.bandwidth", [](Platform& p, double f) { p.leaf.bytes_per_s /= f; }},
    {"core.latency", [](Platform& p, double f) { p.core_latency_s *= f; }},
    {"taper", [](Platform& p, double f) { p.taper *= f; }},
    {"spine_bandwidth", [](Platform& p, double f) { p.spine_bytes_per_s /= f; }},
    {"gap", [](Platform& p, double f) { p.message.gap_s *= f; }},
    {"send_overhead", [](Platform& p, double f) { p.message.send_overhead_s *= f; }},
    {"receive_overhead", [](Platform& p, double f) { p.message.receive_overhead_s *= f; }},
    {"copy_bandwidth", [](Platform& p, double f) { p.message.copy_bytes_per_s /= f; }},
    {"host.memory_bandwidth", [](Platform& p, double f) { p.host.bytes_per_s /= f; }},
    {"noise.rank_sigma", [](Platform& p, double f) { p.noise.rank_sigma *= f; }},
    {"noise.step_sigma", [](Platform& p, double f) { p.noise.step_sigma *= f; }},
};

constexpr std::array networks{"fifo", "segmented"};

std::string report(const Platform& base, const Training& training, const Change& change, double factor) {
  return core::format("{} x {} on {}: {} of {} floats, {} nodes of {} devices", change.what, factor, base.name,
                      training.collective, training.floats, base.nodes, base.devices_per_node);
}

}  // namespace

TEST_CASE("where no two messages meet, nothing gets faster when a platform gets worse", "[sim]") {
  Draws draw(1);
  for (int trial = 0; trial < 30; ++trial) {
    Platform base = drawn(draw);
    base.devices_per_node = base.sockets_per_node = base.leaf.nics_per_node = 1;
    base.taper = 1;
    base.spine_bytes_per_s = 0;
    base.host.staged = false;
    const Training training{"ring", static_cast<std::size_t>(draw.between(1, 100'000))};  // each link has one sender
    const double factor = draw.between(1.01, 3);
    for (const char* network : networks) {
      const double reference = time_of(base, training, network);
      for (const Change& change : changes) {
        Platform worse = base;
        change.worsen(worse, factor);
        INFO(report(base, training, change, factor));
        if (worse.taper == 1) CHECK(time_of(worse, training, network) >= reference);
      }
      Training longer = training;
      longer.floats = static_cast<std::size_t>(factor * static_cast<double>(training.floats)) + 1;
      CHECK(time_of(base, longer, network) >= reference);
    }
  }
}

TEST_CASE("on the platforms that come with the program the ring never gets faster when they get worse", "[sim]") {
  for (const auto& entry : std::filesystem::directory_iterator(PARAGRAD_SOURCE "/sim/platforms")) {
    Platform base = read_platform(entry.path().string());
    base.nodes = std::min(base.nodes, 4);
    base.devices_per_node = std::min(base.devices_per_node, 4);
    base.leaf.nics_per_node = std::min(base.leaf.nics_per_node, base.devices_per_node);
    base.nodes_per_leaf = 2;
    base.taper = 2;
    base.core_latency_s = std::max(base.core_latency_s, 2 * base.leaf.latency_s + 1e-6);
    const Training training{"ring", 100'000};
    const double reference = time_of(base, training, "fifo");
    for (const Change& change : changes) {
      Platform worse = base;
      change.worsen(worse, 1.3);
      INFO(report(base, training, change, 1.3));
      CHECK(time_of(worse, training, "fifo") >= reference);
    }
  }
}

// Resources serve whoever comes first. A delay may let two messages come in the other order, and that order may happen to be
// the better one for the whole (Graham's anomalies of list scheduling, SIAM J. Appl. Math. 17(2), 1969). Such cases are rare
// and small; everything else is monotone.
TEST_CASE("where messages meet, a worse platform is faster only by a rare swap of two messages", "[sim]") {
  Draws draw(2026);
  int cases = 0, anomalies = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Platform base = drawn(draw);
    constexpr std::array names{"ring", "tree", "butterfly", "halving_doubling", "parameter_server"};
    const Training training{names[static_cast<std::size_t>(draw.whole(0, 4))],
                            static_cast<std::size_t>(draw.between(1, 100'000))};
    const double factor = draw.between(1.01, 3);
    const char* network = networks[static_cast<std::size_t>(draw.whole(0, 1))];
    const double reference = time_of(base, training, network);
    for (const Change& change : changes) {
      Platform worse = base;
      change.worsen(worse, factor);
      INFO(report(base, training, change, factor));
      const double time = time_of(worse, training, network);
      CHECK(time >= 0.7 * reference);
      ++cases;
      if (time < reference) ++anomalies;
    }
  }
  CHECK(anomalies <= cases / 50);
}
