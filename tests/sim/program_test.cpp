// What a training program costs beside kernels and messages: a platform's section [program].
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

constexpr Time microsecond = 1'000'000;

/// `steps` steps of 10 us each.
Time duration_of_steps(Platform platform, int steps, const std::string& device, bool at_once, double scale = 1) {
  Time end = 0;
  SimulationOptions options{.device = device, .compute_scale = scale};
  run(timed(std::move(platform)), 1, options, [&](comm::Worker& worker) {
    core::Arena zeros = worker.device().allocate(10 * floats_per_us);
    const auto step = [&] {
      worker.device().begin_step();
      worker.device().run(backend::Fill{0, zeros.span()});
    };
    if (at_once)
      worker.compute({}, [&] {
        for (int i = 0; i < steps; ++i) step();
      });
    for (int i = 0; i < steps && !at_once; ++i) worker.compute({}, step);
    end = simulated_time(worker);
  });
  return end;
}

/// Two workers exchange for about 1 ms beside a computation of `compute_us`.
Time duration_beside(double overlap, std::size_t compute_us) {
  Platform platform = timed(uncontended(2, {1e-6, 1e9}));
  platform.program.overlap = overlap;
  Time end = 0;
  run(platform, 2, {}, [&](comm::Worker& worker) {
    std::vector<float> data(250'000);
    const auto ring = comm::make_allreduce("ring");
    worker.launch([&](comm::Communicator& comm) { (*ring)(comm, data); });
    pass_time(worker, compute_us * floats_per_us);
    worker.join();
    end = std::max(end, simulated_time(worker));
  });
  return end;
}

}  // namespace

TEST_CASE("every step costs the host its time, which the rate of the device does not scale", "[sim]") {
  Platform platform = uncontended(1, wire);
  const bool at_once = GENERATE(false, true);
  const std::string device = GENERATE("cpu", "meta");
  CHECK(duration_of_steps(platform, 5, device, at_once) == 50 * microsecond);
  platform.program.step_cost_s = 3e-6;
  CHECK(duration_of_steps(platform, 5, device, at_once) == 65 * microsecond);
  CHECK(duration_of_steps(platform, 5, device, at_once, 2) == 115 * microsecond);
}

TEST_CASE("a part of the exchange beside a computation is added to it", "[sim]") {
  const Time exchange = duration_beside(1, 0), compute = duration_beside(1, 5000);
  REQUIRE(compute == 5000 * microsecond);
  REQUIRE(exchange > 900 * microsecond);
  CHECK(duration_beside(0, 5000) == compute + exchange);
  CHECK(duration_beside(0.25, 5000) ==
        Approx(static_cast<double>(compute + exchange) - 0.25 * static_cast<double>(exchange)).margin(2));
  CHECK(duration_beside(0, 0) == exchange);
  const Time half_hidden = duration_beside(1, 400);
  CHECK(half_hidden == exchange);
  CHECK(duration_beside(0, 400) == exchange + 400 * microsecond);
}
