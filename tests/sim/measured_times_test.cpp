#include "sim/compute/measured_times.hpp"

#include "backend/kernels/add.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/copy.hpp"
#include "catch.hpp"
#include "core/philox.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using backend::CallSize;
using backend::KernelId;
using backend::WorkMeter;

namespace {

/// Times of a kernel with a launch, a cost per output and one per multiplication: linear in each size.
double product_s(double batch, double inputs, double outputs) {
  return 1e-6 + 1e-10 * batch * outputs + 1e-11 * batch * inputs * outputs;
}

KernelTable product_table() {
  KernelTable table{"affine_forward", {{{1, 16, 64}, {10, 100}, {10, 100, 1000}}}, {}};
  for (const double m : table.sizes[0])
    for (const double k : table.sizes[1])
      for (const double n : table.sizes[2]) table.time_s.push_back(product_s(m, k, n));
  return table;
}

KernelTable add_table() { return {"add", {{{12, 1200, 120'000}, {1}, {1}}}, {1e-6, 2e-6, 30e-6}}; }

Platform measured(int workers) {
  Platform platform = free_platform(workers);
  platform.device = {1e12, 1e11, 1, 1, 5e-6};
  platform.device.kernels = {product_table(), add_table()};
  return platform;
}

/// A layer's forward pass on arrays of its own.
struct Forward {
  std::size_t batch, inputs, outputs;
  std::vector<float> x = std::vector<float>(batch * inputs), w = std::vector<float>(inputs * outputs),
                     bias = std::vector<float>(outputs), y = std::vector<float>(batch * outputs);
  void operator()(backend::Device& device) {
    device.run(backend::AffineForward{batch, inputs, outputs, x, w, bias, backend::Activation::relu, y});
  }
};

}  // namespace

TEST_CASE("a table gives back its points and what is linear between them", "[sim]") {
  const KernelTable table = product_table();
  CHECK(table.mistake().empty());
  const CallSize size = GENERATE(CallSize{1, 10, 10}, CallSize{16, 100, 1000}, CallSize{64, 100, 1000},
                                 CallSize{40, 50, 500}, CallSize{2, 99, 11});
  CHECK(table.seconds(size) ==
        Approx(product_s(static_cast<double>(size[0]), static_cast<double>(size[1]), static_cast<double>(size[2]))));
}

TEST_CASE("below its first point a table stays level, beyond its last it grows in proportion", "[sim]") {
  const KernelTable table = product_table();
  CHECK(table.seconds({1, 1, 1}) == table.seconds({1, 10, 10}));
  CHECK(table.seconds({128, 100, 1000}) == Approx(2 * table.seconds({64, 100, 1000})));
  CHECK(table.seconds({128, 300, 1000}) == Approx(6 * table.seconds({64, 100, 1000})));
  CHECK(add_table().seconds({240'000, 1, 1}) == Approx(60e-6));
}

TEST_CASE("more work never takes less time, whatever the sizes", "[sim]") {
  KernelTable table = product_table();
  const core::RandomStream random(7, core::Purpose::generator, 0);
  for (std::size_t i = 0; i < table.time_s.size(); ++i) table.time_s[i] = random.uniform(i);
  for (std::size_t point = 0; point < table.time_s.size(); ++point)  // no time below that of a neighbour before it
    for (const auto& [stride, points] : {std::pair{6u, 3u}, {3u, 2u}, {1u, 3u}})
      if (point / stride % points > 0) table.time_s[point] = std::max(table.time_s[point], table.time_s[point - stride]);
  REQUIRE(table.mistake().empty());
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto draw = [&](std::uint64_t k, double most) {
      return static_cast<std::uint64_t>(1 + most * random.uniform(1000 + 8 * i + k));
    };
    CallSize size{draw(0, 150), draw(1, 250), draw(2, 2000)};
    const double before = table.seconds(size);
    size[draw(3, 2.99) - 1] += draw(4, 30);
    CHECK(table.seconds(size) >= before);
  }
}

TEST_CASE("a table with a mistake in it is told from a sound one", "[sim]") {
  const auto mistake = [](auto change) {
    KernelTable table = product_table();
    change(table);
    return table.mistake();
  };
  CHECK_THAT(mistake([](KernelTable& t) { t.sizes[1] = {}; }), contains_text("must rise"));
  CHECK_THAT(mistake([](KernelTable& t) { t.sizes[0] = {1, 64, 64}; }), contains_text("must rise"));
  CHECK_THAT(mistake([](KernelTable& t) { t.sizes[0] = {0, 16, 64}; }), contains_text("must rise"));
  CHECK_THAT(mistake([](KernelTable& t) { t.time_s.pop_back(); }), contains_text("17 times for 18 points"));
  CHECK_THAT(mistake([](KernelTable& t) { t.time_s[5] = 1e-9; }), contains_text("time 6 is shorter"));
}

TEST_CASE("where times were measured, simulated time is their sum call by call", "[sim]") {
  Forward small{4, 20, 30}, large{64, 100, 200};
  const Platform platform = measured(1);
  const MeasuredTimes times(platform.device);
  const auto price = [&](const Forward& call) {
    return static_cast<Time>(times.picoseconds(KernelId::affine_forward, {call.batch, call.inputs, call.outputs}, {}));
  };
  const auto meta = backend::make_device("meta");
  meta->charge_by(measured_times(platform.device));
  small(*meta), large(*meta), small(*meta);
  const WorkMeter expected = meta->meter();
  CHECK(static_cast<Time>(expected.charged_ps()) == 2 * price(small) + price(large));

  for (const bool announced : {false, true}) {
    const Report report = run(platform, 1, {}, [&](comm::Worker& worker) {
      worker.compute(announced ? expected : WorkMeter{},
                     [&] { small(worker.device()), large(worker.device()), small(worker.device()); });
    });
    CHECK(from_seconds(report.makespan_s) == 2 * price(small) + price(large));
  }
}

TEST_CASE("a kernel without a table takes its roofline, in the company of measured ones", "[sim]") {
  std::vector<float> a(3000), b(3000);
  const auto time = [&](const Platform& platform, auto kernels) {
    return from_seconds(run(platform, 1, {}, [&](comm::Worker& worker) { worker.run_kernels(kernels); }).makespan_s);
  };
  Platform without = measured(1);
  without.device.kernels.clear();
  const auto copy = [&](backend::KernelQueue& queue) { queue.run(backend::Copy{a, b}); };
  const auto add = [&](backend::KernelQueue& queue) { queue.run(backend::Add{a, b}); };
  CHECK(time(measured(1), copy) == time(without, copy));
  CHECK(time(measured(1), add) == from_seconds(add_table().seconds({36'000, 1, 1})));
}

TEST_CASE("measured times are the same with any number of host threads", "[sim][threads]") {
  const auto makespan = [](int host_threads) {
    return run(measured(3), 3, SimulationOptions{.host_threads = host_threads},
               [](comm::Worker& worker) {
                 Forward call{static_cast<std::size_t>(8 * (worker.rank() + 1)), 50, 60};
                 for (int step = 0; step < 5; ++step) worker.compute({}, [&] { call(worker.device()); });
               })
        .makespan_s;
  };
  CHECK(makespan(1) == makespan(3));
}
