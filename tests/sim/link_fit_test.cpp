#include "sim/calibration/link_fit.hpp"

#include <cmath>

#include "catch.hpp"
#include "core/philox.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using sim::calibration::fit_link;
using sim::calibration::LinkFit;
using sim::calibration::LinkPoint;

namespace {

std::vector<LinkPoint> points_of(const std::function<double(double)>& seconds) {
  std::vector<LinkPoint> points{{0, seconds(0)}};
  for (std::size_t bytes = 1; bytes <= 64 << 20; bytes *= 2) points.push_back({bytes, seconds(static_cast<double>(bytes))});
  return points;
}

}  // namespace

TEST_CASE("points of one line are given back as its latency and bandwidth, whatever their span", "[sim]") {
  const double latency_s = GENERATE(1e-7, 3e-6, 5e-5), bytes_per_s = GENERATE(1e8, 5e9, 2e11);
  const LinkFit fit = fit_link(points_of([&](double n) { return latency_s + n / bytes_per_s; }), 0.02);
  CHECK(fit.classes.empty());
  CHECK(fit.link.latency_s == Approx(latency_s).epsilon(1e-9));
  CHECK(fit.link.bytes_per_s == Approx(bytes_per_s).epsilon(1e-9));
}

TEST_CASE("a protocol that changes with the length becomes size classes, cut where it changes", "[sim]") {
  const auto seconds = [](double n) { return n < 10'000 ? 4e-7 + n / 3e9 : 4e-6 + n / 6e9; };
  const auto points = points_of(seconds);
  const LinkFit fit = fit_link(points, 0.02);
  REQUIRE(fit.classes.size() == 2);
  CHECK(fit.classes[0].from_bytes == 0);
  CHECK(fit.classes[1].from_bytes > 8192);
  CHECK(fit.classes[1].from_bytes <= 16384);
  CHECK(fit.link.latency_s == Approx(4e-7));
  CHECK(fit.link.bytes_per_s == Approx(6e9));
  for (const LinkPoint& point : points) CHECK(fit.seconds(point.bytes) == Approx(point.seconds));
}

TEST_CASE("lines that cross hand over at the crossing, so that no length is a jump", "[sim]") {
  const auto seconds = [](double n) { return std::max(1e-6 + n / 10e9, 0.4e-6 + n / 2e9); };  // cross at 1500
  const LinkFit fit = fit_link(points_of(seconds), 0.01);
  REQUIRE(fit.classes.size() == 2);
  CHECK(std::abs(fit.classes[1].from_bytes - 1500) <= 1);
}

TEST_CASE("noise makes no size classes, and disturbed points do not bend the line", "[sim]") {
  const core::RandomStream random(3, core::Purpose::generator, static_cast<std::uint32_t>(GENERATE(range(0, 20))));
  std::uint64_t draw = 0;
  const auto line = [](double n) { return 5e-7 + n / 5e9; };
  auto points = points_of([&](double n) { return line(n) * (1 + 0.08 * (random.uniform(draw++) - 0.5)); });
  for (const std::size_t disturbed : {4, 9, 15, 22}) points[disturbed].seconds *= 1 + 2 * random.uniform(draw++);
  const LinkFit fit = fit_link(points, 0.05);
  CHECK(fit.classes.empty());
  for (const LinkPoint& point : points)
    CHECK(fit.seconds(point.bytes) == Approx(line(static_cast<double>(point.bytes))).epsilon(0.08));
}

TEST_CASE("a point that is slower than a longer message's does not bend the line", "[sim]") {
  const auto line = [](double n) { return 5e-7 + n / 5e9; };
  auto points = points_of(line);
  for (std::size_t i = 0; i < 10; i += 2) points[i].seconds *= 1.5;  // half of those that tell the latency
  const LinkFit fit = fit_link(points, 0.05);
  CHECK(fit.classes.empty());
  CHECK(fit.link.latency_s == Approx(5e-7).epsilon(0.02));
}

TEST_CASE("what no line can follow still gives values that a platform file takes", "[sim]") {
  const auto usable = [](const LinkFit& fit) {
    CHECK(fit.link.latency_s >= 1e-9);
    CHECK(fit.link.bytes_per_s > 1e3);
    CHECK(std::isfinite(fit.link.bytes_per_s));
    for (const auto& size_class : fit.classes) {
      CHECK(size_class.latency_factor > 0);
      CHECK(size_class.bandwidth_factor > 0);
    }
  };
  usable(fit_link(points_of([](double) { return 1e-6; }), 0.02));            // no cost per byte
  usable(fit_link(points_of([](double n) { return 1e-12 + n / 1e9; }), 1));  // no latency
  usable(fit_link({{0, 5e-6}, {8, 1e-6}}, 0.02));                            // falling
  usable(fit_link({{8, 1e-6}, {8, 3e-6}}, 0.02));                            // twice the same length
  CHECK_THROWS_AS(fit_link({{8, 1e-6}}, 0.02), std::logic_error);
}
