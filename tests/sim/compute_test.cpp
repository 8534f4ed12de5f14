#include <atomic>

#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "catch.hpp"
#include "sim/compute/roofline.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using backend::KernelKind;
using backend::WorkMeter;

namespace {

constexpr Platform::Device device{2e12, 1e11, 0.5, 0.8, 3e-6};

Platform with_device(int workers) {
  Platform platform = free_platform(workers);
  platform.device = device;
  return platform;
}

// A square product, and the work that a device counts for it.
struct Product {
  std::size_t side;
  std::vector<float> a = std::vector<float>(side * side, 1.f), c = a;
  void operator()(backend::KernelQueue& on) {
    on.run(backend::Gemm{backend::Transpose::no, backend::Transpose::no, side, side, side, a, a, 0.f, c});
  }
  WorkMeter work() const {
    WorkMeter meter;
    meter.add(KernelKind::gemm, 2 * side * side * side, 3 * 4 * side * side);
    return meter;
  }
};

Time duration_of(const std::function<void(comm::Worker&)>& body) {
  return from_seconds(run(with_device(1), 1, {}, body).makespan_s);
}

}  // namespace

TEST_CASE("a computation takes launches plus the slower of arithmetic and memory, per kind of kernel", "[sim]") {
  WorkMeter work;
  work.add(KernelKind::gemm, 4'000'000'000, 1000);   // 4e9 / 1e12 = 4 ms
  work.add(KernelKind::gemm, 0, 0);                  // a launch
  work.add(KernelKind::streaming, 10, 800'000'000);  // 8e8 / 8e10 = 10 ms
  CHECK(Roofline(device).duration(work) == from_seconds(3 * 3e-6 + 4e-3 + 10e-3));
  CHECK(Roofline(device).duration({}) == 0);
}

TEST_CASE("simulated time is the roofline of the metered work, whichever way it is computed", "[sim]") {
  Product product{64};
  const Time expected = Roofline(device).duration(product.work());
  REQUIRE(expected > 0);
  CHECK(duration_of([&](comm::Worker& worker) { worker.compute({}, [&] { product(worker.device()); }); }) == expected);
  CHECK(duration_of([&](comm::Worker& worker) { worker.compute(product.work(), [&] { product(worker.device()); }); }) ==
        expected);
  CHECK(duration_of([&](comm::Worker& worker) { worker.run_kernels(product); }) == expected);
  CHECK(duration_of([&](comm::Worker& worker) { worker.compute({}, [] {}); }) == 0);
}

TEST_CASE("adding costs the sender's device what it counts, long or short", "[sim]") {
  const std::size_t floats = GENERATE(1u, 1000u, 100'000u);  // on the engine's thread, and on the host pool
  std::vector<float> from(floats, 1.f), to(floats, 2.f);
  const Time time = duration_of([&](comm::Worker& worker) { worker.comm().add(from, to); });
  WorkMeter work;
  work.add(KernelKind::streaming, floats, 12 * floats);
  CHECK(time == Roofline(device).duration(work));
  CHECK(to == std::vector<float>(floats, 3.f));
}

TEST_CASE("a computation inside a computation counts once", "[sim]") {
  Product product{32};
  const auto nested = [&](comm::Worker& worker) {
    worker.compute({}, [&] {
      worker.compute(product.work(), [&] { product(worker.device()); });
      worker.run_kernels(product);
    });
    worker.compute({}, [&] { product(worker.device()); });  // not inside any more
  };
  CHECK(duration_of(nested) == 3 * Roofline(device).duration(product.work()));
}

TEST_CASE("computing can be scaled, the kernels of a strategy and of a reduction are not", "[sim]") {
  Product product{64};
  const Time once = Roofline(device).duration(product.work());
  const auto end = [&](double scale, const std::function<void(comm::Worker&)>& body) {
    return from_seconds(run(with_device(1), 1, SimulationOptions{.compute_scale = scale}, body).makespan_s);
  };
  for (const double scale : {0.25, 1.0, 3.0}) {
    const Time scaled = std::llround(static_cast<double>(once) * scale);
    CHECK(end(scale, [&](auto& worker) { worker.compute(product.work(), [&] { product(worker.device()); }); }) == scaled);
    CHECK(end(scale, [&](auto& worker) { worker.compute({}, [&] { product(worker.device()); }); }) == scaled);
    CHECK(end(scale, [&](auto& worker) { worker.run_kernels(product); }) == once);
  }
  CHECK(compute_time_s(with_device(1), product.work()) == to_seconds(once));
}

TEST_CASE("announcing more work than the task does is a broken contract, told once and not hung on", "[sim][threads]") {
  const int workers = GENERATE(1, 2, 5);
  const int host_threads = GENERATE(1, 2);
  const auto body = [](comm::Worker& worker) { worker.compute(streaming(1'000'000'000), [] {}); };
  CHECK_THROWS_AS(run(with_device(workers), workers, SimulationOptions{.host_threads = host_threads}, body),
                  std::logic_error);
}

TEST_CASE("two host threads run the tasks of two workers at the same time", "[sim][threads]") {
  Meeting meeting(2);
  std::atomic<int> met = 0;
  run(with_device(2), 2, SimulationOptions{.host_threads = 2}, [&](comm::Worker& worker) {
    std::vector<float> data(1000);
    worker.compute(streaming(4 * 1000), [&] {
      met += meeting.wait();
      worker.device().run(backend::Fill{0, data});
    });
  });
  CHECK(met == 2);
}

TEST_CASE("an honest bound lets a task run beside one that started earlier in simulated time", "[sim][threads]") {
  Meeting meeting(2);
  std::atomic<int> met = 0;
  const auto short_delay = streaming(4 * 1000);
  std::vector<float> long_data(100'000), short_data(1000);
  run(with_device(2), 2, SimulationOptions{.host_threads = 2}, [&](comm::Worker& worker) {
    if (worker.rank() == 1) worker.run_kernels([&](backend::KernelQueue& on) { on.run(backend::Fill{0, short_data}); });
    const auto& expected = worker.rank() == 0 ? streaming(4 * 100'000) : short_delay;
    worker.compute(expected, [&] {
      met += meeting.wait();
      worker.device().run(backend::Fill{0, std::span(worker.rank() == 0 ? long_data : short_data)});
    });
  });
  CHECK(met == 2);
}

TEST_CASE("a bound that is too low costs concurrency, not correctness", "[sim][threads]") {
  Product product{48};
  const auto time = [&](const WorkMeter& expected) {
    std::vector<Time> ended(3);
    run(with_device(3), 3, SimulationOptions{.host_threads = 3}, [&](comm::Worker& worker) {
      Product mine = product;
      for (int step = 0; step <= worker.rank(); ++step) worker.compute(expected, [&] { mine(worker.device()); });
      ended[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
    });
    return ended;
  };
  CHECK(time({}) == time(product.work()));
}
