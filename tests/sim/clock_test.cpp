// The end of the simulator's clock: whatever lasts long ends at its exact time, or is refused; it never ends early, and
// never waits for an event that cannot come.
#include <cmath>
#include <functional>
#include <limits>

#include "backend/work_meter.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "sim/compute/roofline.hpp"
#include "sim/compute/speed_profile.hpp"
#include "sim/network/resources.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using backend::KernelKind;
using backend::WorkMeter;

namespace {

constexpr double day_s = 86400;
const double end_s = to_seconds(never);

/// From seconds to more than a double's worth of picoseconds.
std::vector<double> durations_s() {
  return {1,
          11.5 * day_s,
          11.6 * day_s,
          26.6 * day_s,
          26.7 * day_s,
          27 * day_s,
          40 * day_s,
          41 * day_s,
          53.4 * day_s,
          107 * day_s,
          214 * day_s,
          1e12,
          1e30,
          std::numeric_limits<double>::infinity()};
}

Platform with_device(double flops_per_s, int workers = 1) {
  Platform platform = free_platform(workers);
  platform.device = {flops_per_s, 1e30, 1, 1, 0};
  return platform;
}

/// `simulate` takes seconds and returns at what time it ends.
void expect_exact_or_refused(const std::function<double(double)>& simulate) {
  for (const double seconds : durations_s()) {
    CAPTURE(seconds / day_s);
    if (seconds < end_s)
      CHECK(simulate(seconds) == Approx(seconds).epsilon(1e-9));
    else
      CHECK_THROWS_WITH(simulate(seconds), contains_text("this takes more than 40 days of simulated time"));
  }
}

/// Has a device that only counts do as many operations.
void compute(backend::Device& device, double flops) {
  for (int calls = 0; flops > 0 && calls < 5000; ++calls) {
    const double now = std::min(flops, 1e18);
    device.imagine(backend::KernelId::gemm, {}, static_cast<std::uint64_t>(now), 0);
    flops -= now;
  }
}

}  // namespace

TEST_CASE("a worker that waits for days ends at its time, or is refused", "[sim][clock]") {
  expect_exact_or_refused([](double seconds) {
    return run(free_platform(1), 1, {}, [&](EmulatedWorker& worker) { worker.pass(seconds); }).makespan_s;
  });
}

TEST_CASE("several waits that exceed the clock together are refused", "[sim][clock]") {
  const auto wait = [](int times) {
    return run(free_platform(2), 2, {},
               [&](EmulatedWorker& worker) {
                 for (int i = 0; i < times; ++i) {
                   worker.pass(3 * day_s);
                   comm::barrier(worker.comm());
                 }
               })
        .makespan_s;
  };
  CHECK(wait(13) == Approx(39 * day_s));
  CHECK_THROWS_AS(wait(14), core::ConfigError);
}

TEST_CASE("computing for days ends at its time, or is refused", "[sim][clock]") {
  const double rate = GENERATE(1e3, 1e6, 1e15);
  expect_exact_or_refused([&](double seconds) {
    return run(with_device(rate), 1, {.device = "meta"},
               [&](EmulatedWorker& worker) { worker.compute({}, [&] { compute(worker.device(), seconds * rate); }); })
        .makespan_s;
  });
}

TEST_CASE("more operations than 2^64 are counted", "[sim][clock]") {
  WorkMeter work;
  for (int i = 0; i < 5; ++i) work.add(KernelKind::gemm, std::uint64_t{1} << 63, std::uint64_t{1} << 63);
  const Platform::Device device{1e16, 1e16, 1, 1, 0};
  CHECK(to_seconds(Roofline(device).duration(work)) == Approx(5 * 0x1p63 / 1e16));
  WorkMeter more = work * 3;
  more -= work;
  CHECK(to_seconds(Roofline(device).duration(more)) == Approx(10 * 0x1p63 / 1e16));
  CHECK(Roofline({1, 1, 1, 1, 0}).duration(work) == never);
  CHECK(Roofline({1e30, 1e30, 1, 1, 1e6}).duration(work * 1000000) == never);
}

TEST_CASE("a resource that is taken for days is free at its time, or the taking is refused", "[sim][clock]") {
  const double bytes_per_s = GENERATE(1e3, 1e9);
  const bool slow = GENERATE(false, true);
  for (const double seconds : durations_s()) {
    if (seconds * bytes_per_s > 9e18) continue;  // bytes are whole numbers of 64 bits
    Resources resources;
    const Resources::Id id = resources.add(1, bytes_per_s * (slow ? 4 : 1));
    if (slow) resources.slow(id, 0, never, 0.25);
    const auto take = [&] { return resources.take(id, 0, static_cast<std::int64_t>(seconds * bytes_per_s)).end; };
    CAPTURE(seconds / day_s, bytes_per_s);
    if (seconds < end_s)
      CHECK(to_seconds(take()) == Approx(seconds).epsilon(1e-9));
    else
      CHECK_THROWS_AS(take(), core::ConfigError);
  }
}

TEST_CASE("a speed profile ends work of days at its time; only what stands still for good never ends", "[sim][clock]") {
  SpeedProfile profile;
  profile.slow(from_seconds(10), never, 1e-3);
  CHECK(to_seconds(profile.end(0, from_seconds(10 + 0.03 * day_s))) == Approx(10 + 30 * day_s));
  CHECK_THROWS_AS(profile.end(0, from_seconds(10 + 0.05 * day_s)), core::ConfigError);
  profile.slow(from_seconds(20 * day_s), never, 0);
  CHECK(profile.end(0, from_seconds(10 + 0.03 * day_s)) == never);
  CHECK(end_of({.at_s = 0, .duration_s = 12 * day_s}) == from_seconds(12 * day_s));
  CHECK(end_of({.at_s = 0, .duration_s = 1e30}) == never);
}

TEST_CASE("times, and bytes at a bandwidth, do not wrap", "[sim][clock]") {
  CHECK(from_seconds(1e300) == never);
  CHECK(from_seconds(std::numeric_limits<double>::infinity()) == never);
  CHECK(InverseBandwidth(1e3).time_of(std::numeric_limits<std::int64_t>::max()) == never);
  CHECK(InverseBandwidth(1e18).time_of(1'000'000'000) == from_seconds(1e-9));
  CHECK_THROWS_WITH(InverseBandwidth(1), contains_text("too slow for the simulator's clock"));
  Time sum = never;
  CHECK_FALSE(__builtin_add_overflow(sum, never, &sum));
  CHECK_FALSE(__builtin_add_overflow(sum, from_seconds(1e6), &sum));  // the longest latency of a platform
}
