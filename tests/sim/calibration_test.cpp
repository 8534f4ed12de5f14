// A simulated machine, measured by the program that measures real ones, must come out as what it was made of.
#include "sim/calibration/calibration.hpp"

#include "backend/kernels/add.hpp"
#include "backend/kernels/affine.hpp"
#include "backend/kernels/attention.hpp"
#include "backend/kernels/block_filter.hpp"
#include "catch.hpp"
#include "sim/calibration/ping_pong.hpp"
#include "sim/calibration/platform_text.hpp"
#include "sim/compute/measured_times.hpp"
#include "support.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using backend::KernelId;

namespace {

Platform machine(int nodes, int devices_per_node) {
  Platform platform;
  platform.name = "machine";
  platform.nodes = nodes;
  platform.devices_per_node = devices_per_node;
  platform.device = {2e11, 2e10, 0.8, 0.9, 2e-6};
  platform.peer = {0.7e-6, 8e9};
  platform.leaf = {{3e-6, 1.2e9}, 1};
  platform.message.eager_bytes = 10'000;
  return platform;
}

calibration::CalibrationOptions quick() {
  calibration::CalibrationOptions options;
  options.kernels = {{1, 32}, {10, 100}, {1e3, 1e5}, 1, 1e-4, {1, 4}, {8, 16}, {4, 16}};
  options.largest_message = 1'000'000;
  options.eager_bytes = 10'000;
  options.message_passes = 1;
  options.burst_s = 3e-3;
  return options;
}

/// One size of each kernel, where the links are what is looked at.
calibration::CalibrationOptions quick_links() {
  calibration::CalibrationOptions options = quick();
  options.kernels = {{1}, {10}, {1e3}, 1, 1e-5, {1}, {8}, {4}};
  return options;
}

calibration::Calibration measure(const Platform& platform, const calibration::CalibrationOptions& options) {
  calibration::Calibration result;
  run(platform, platform.workers(), {}, [&](comm::Worker& worker) {
    auto mine = calibration::calibrate(worker, options, [](const std::string&) {});
    if (worker.rank() == 0) result = std::move(mine);
  });
  return result;
}

Platform read_back(const Platform& platform) {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("written.toml"), calibration::platform_text(platform, {"a remark"}));
  return read_platform(folder.file("written.toml"));
}

}  // namespace

TEST_CASE("measuring a simulated machine gives back its links", "[sim]") {
  const auto [nodes, devices] = GENERATE(std::pair(1, 2), std::pair(2, 1), std::pair(2, 2), std::pair(3, 2));
  const Platform truth = machine(nodes, devices);
  const Platform found = measure(truth, quick_links()).platform;
  CHECK(found.nodes == nodes);
  CHECK(found.devices_per_node == devices);
  CHECK(found.message.eager_bytes == 10'000);
  CHECK(found.size_classes.empty());
  const auto same = [](const Link& a, const Link& b) {
    CHECK(a.latency_s == Approx(b.latency_s).epsilon(1e-3));
    CHECK(a.bytes_per_s == Approx(b.bytes_per_s).epsilon(1e-3));
  };
  if (devices > 1) same(found.peer, truth.peer);
  if (nodes > 1) same(found.leaf, truth.leaf);
}

TEST_CASE("a calibration tells which pass over the kernels begins", "[sim]") {
  std::vector<std::string> told;
  auto options = quick_links();
  options.kernels.passes = 2;
  run(machine(1, 1), 1, {}, [&](comm::Worker& worker) {
    calibration::calibrate(worker, options, [&](const std::string& text) { told.push_back(text); });
  });
  REQUIRE(told.size() >= 2);
  CHECK(told[0] == "kernels, pass 1 of 2");
  CHECK(told[1] == "kernels, pass 2 of 2");
}

TEST_CASE("messages both ways at once take as long as one, and half as long as there and back", "[sim]") {
  std::vector<calibration::MessagePoint> points;
  run(machine(2, 1), 2, {}, [&](comm::Worker& worker) {
    auto mine = calibration::ping_pong(worker.comm(), {1000, 100'000}, {.passes = 2});
    if (worker.rank() == 1) points = std::move(mine);
  });
  REQUIRE(points.size() == 2);
  for (const auto& point : points) {
    CHECK(point.one_way_s > 3e-6);
    CHECK(point.exchange_s >= point.one_way_s);
    CHECK(point.exchange_s < 1.5 * point.one_way_s);
  }
}

TEST_CASE("measuring a simulated machine gives back the times of its kernels", "[sim]") {
  const Platform truth = machine(1, 2);
  const Platform found = measure(truth, quick()).platform;
  const Roofline roofline(truth.device);
  const MeasuredTimes times(found.device);
  const auto meta = backend::make_device("meta");
  REQUIRE(found.device.kernels.size() == backend::kernel_count - 1);
  core::Arena memory = meta->allocate(100'000);
  const auto part = [&](std::size_t count) { return memory.span().first(count); };
  const auto check = [&](KernelId kernel, const backend::CallSize& size, auto call) {
    const backend::WorkMeter before = meta->meter();
    call();
    backend::WorkMeter work = meta->meter();
    work -= before;
    const auto measured = static_cast<double>(times.picoseconds(kernel, size, work));
    CHECK(measured == Approx(static_cast<double>(roofline.duration(work))).epsilon(0.01));
  };
  check(KernelId::affine_forward, {32, 100, 10}, [&] {
    meta->run(backend::AffineForward{32, 100, 10, part(3200), part(1000), part(10), backend::Activation::relu, part(320)});
  });
  check(KernelId::add, {99'996, 1, 1}, [&] { meta->run(backend::Add{part(8333), part(8333)}); });
  const backend::AttentionShape attention{{2, 16}, 2, 16};
  check(KernelId::attention_forward, {4, 16, 136}, [&] {
    const std::size_t all = attention.rows.size() * attention.outputs();
    meta->run(backend::AttentionForward{attention, part(3 * all), part(attention.rows.size() * 2), part(all)});
  });
  check(KernelId::block_filter, {99'984, 1, 1}, [&] {
    meta->run(backend::BlockFilter{0, 1, 0, 0, part(4166), part(4166), part(4166)});
  });
}

TEST_CASE("a lone worker measures its kernels, and its file is complete", "[sim]") {
  const calibration::Calibration found = measure(machine(1, 1), quick());
  CHECK_FALSE(found.peer);
  CHECK(found.allreduce_s.empty());
  CHECK(read_back(found.platform).workers() == 1);
}

TEST_CASE("a written platform file gives back the measured points when the same messages are sent", "[sim]") {
  const Platform truth = machine(2, 2);
  const calibration::Calibration found = measure(truth, quick());
  const Platform written = read_back(found.platform);
  CHECK(written.device.kernels.size() == found.platform.device.kernels.size());
  const calibration::Calibration again = calibration::simulate_measurement(found, written, quick());
  for (const auto& [first, second] : {std::pair(&*found.peer, &*again.peer), std::pair(&*found.leaf, &*again.leaf)})
    for (std::size_t i = 0; i < first->points.size(); ++i) {
      CHECK(second->points[i].bytes == first->points[i].bytes);
      CHECK(second->points[i].one_way_s == Approx(first->points[i].one_way_s).epsilon(2e-3));
      CHECK(second->points[i].exchange_s == Approx(first->points[i].exchange_s).epsilon(2e-3));
    }
  REQUIRE_FALSE(found.allreduce_s.empty());
  for (std::size_t i = 0; i < found.allreduce_s.size(); ++i)
    CHECK(again.allreduce_s[i] == Approx(found.allreduce_s[i]).epsilon(0.02));
}

TEST_CASE("size classes and odd values survive being written and read", "[sim]") {
  Platform platform = measure(machine(1, 2), quick()).platform;
  platform.size_classes = {{0, 1, 0.25}, {1500, 12.5, 1e-9}, {70'000, 1e7, 1}};  // factors beyond what a file takes
  platform.peer.latency_s = 1e-12;
  const Platform written = read_back(platform);
  REQUIRE(written.size_classes.size() == 3);
  CHECK(written.size_classes[1].from_bytes == 1500);
  CHECK(written.size_classes[1].latency_factor == Approx(12.5));
  CHECK(written.size_classes[1].bandwidth_factor == Approx(1e-3));
  CHECK(written.size_classes[2].latency_factor == Approx(1e3));
  CHECK(written.peer.latency_s == Approx(1e-9));
}
