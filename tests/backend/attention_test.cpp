// Attention against plain sums in double, and what a row's bits depend on.
#include "backend/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "tests/backend/host_gpu.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

struct Attended {
  std::vector<float> sums, y, dx;
};

Attended attended(Device& device, const AttentionShape& shape, const std::vector<float>& x, const std::vector<float>& dy,
                  float keep = 0, float old = 0) {
  Attended found{std::vector<float>(shape.rows.size() * shape.heads), std::vector<float>(dy.size()),
                 std::vector<float>(x.size(), old)};
  core::Arena in = device.allocate(x.size()), sums = device.allocate(found.sums.size()), y = device.allocate(dy.size()),
              d = device.allocate(dy.size()), dx = device.allocate(x.size());
  device.transfer(std::span(x), in.span());
  device.transfer(std::span(dy), d.span());
  device.transfer(std::span<const float>(found.dx), dx.span());
  device.run(AttentionForward{shape, in.span(), sums.span(), y.span()});
  device.run(AttentionBackward{shape, in.span(), sums.span(), y.span(), d.span(), keep, dx.span()});
  device.transfer(std::span<const float>(sums.span()), std::span(found.sums));
  device.transfer(std::span<const float>(y.span()), std::span(found.y));
  device.transfer(std::span<const float>(dx.span()), std::span(found.dx));
  return found;
}

/// With whole matrices, and without the kernels' formulas.
struct Plain {
  std::vector<double> y, dx;

  Plain(const AttentionShape& shape, const std::vector<float>& x, const std::vector<float>& dy)
      : y(dy.size()), dx(x.size()) {
    for (std::size_t s = 0; s < shape.rows.sequences; ++s)
      for (std::size_t h = 0; h < shape.heads; ++h) add(shape, s, h, x, dy);
  }

  void add(const AttentionShape& shape, std::size_t s, std::size_t h, const std::vector<float>& x,
           const std::vector<float>& dy) {
    const std::size_t steps = shape.rows.steps, width = shape.width;
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    const auto in = [&](std::size_t t, std::size_t part, std::size_t c) {
      return ((t * shape.rows.sequences + s) * 3 + part) * shape.outputs() + h * width + c;
    };
    const auto out = [&](std::size_t t, std::size_t c) {
      return (t * shape.rows.sequences + s) * shape.outputs() + h * width + c;
    };
    for (std::size_t i = 0; i < steps; ++i) {
      std::vector<double> p(i + 1), dp(i + 1, 0);
      for (std::size_t j = 0; j <= i; ++j)
        for (std::size_t c = 0; c < width; ++c)
          p[j] += scale * static_cast<double>(x[in(i, 0, c)]) * static_cast<double>(x[in(j, 1, c)]);
      const double largest = *std::ranges::max_element(p);
      double sum = 0, mean = 0;
      for (double& one : p) sum += one = std::exp(one - largest);
      for (std::size_t j = 0; j <= i; ++j) {
        p[j] /= sum;
        for (std::size_t c = 0; c < width; ++c) {
          y[out(i, c)] += p[j] * static_cast<double>(x[in(j, 2, c)]);
          dp[j] += static_cast<double>(dy[out(i, c)]) * static_cast<double>(x[in(j, 2, c)]);
          dx[in(j, 2, c)] += p[j] * static_cast<double>(dy[out(i, c)]);
        }
        mean += p[j] * dp[j];
      }
      for (std::size_t j = 0; j <= i; ++j)
        for (std::size_t c = 0; c < width; ++c) {
          dx[in(i, 0, c)] += scale * p[j] * (dp[j] - mean) * static_cast<double>(x[in(j, 1, c)]);
          dx[in(j, 1, c)] += scale * p[j] * (dp[j] - mean) * static_cast<double>(x[in(i, 0, c)]);
        }
    }
  }
};

double worst(const std::vector<float>& found, const std::vector<double>& wanted) {
  double error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double one = std::abs(static_cast<double>(found[i]) - wanted[i]) / (1 + std::abs(wanted[i]));
    error = std::max(error, std::isnan(one) ? 1e9 : one);
  }
  return error;
}

}  // namespace

TEST_CASE("attention is what plain sums in double give, for odd lengths and widths", "[backend]") {
  const auto cpu = make_device("cpu");
  for (const std::size_t steps : {1, 7, 8, 9, 63, 64, 65, 130, 300})
    for (const std::size_t width : {1, 8, 16, 20, 32, 64, 128}) {
      if (steps == 300 && width != 20 && width != 64) continue;
      CAPTURE(steps, width);
      const AttentionShape shape{{2, steps}, width == 1 ? 3u : 2u, width};
      const auto x = random_numbers(3 * shape.rows.size() * shape.outputs(), 1);
      const auto dy = random_numbers(shape.rows.size() * shape.outputs(), 2);
      const Plain plain(shape, x, dy);
      const Attended found = attended(*cpu, shape, x, dy);
      CHECK(worst(found.y, plain.y) < 3e-6);
      CHECK(worst(found.dx, plain.dx) < 2e-5);
      if (steps > 65) continue;
      for (const std::string other : {"reference", "host gpu", "host gpu backwards"}) {
        CAPTURE(other);
        const Attended same = attended(*any_device(other), shape, x, dy);
        CHECK(worst(same.y, plain.y) < 3e-6);
        CHECK(worst(same.dx, plain.dx) < 2e-5);
        CHECK(worst(same.sums, {found.sums.begin(), found.sums.end()}) < 3e-6);
      }
    }
}

TEST_CASE("attention with scores of thousands is finite and right", "[backend]") {
  const std::string name = GENERATE("cpu", "host gpu");
  const auto device = any_device(name);
  const AttentionShape shape{{1, 40}, 1, 16};
  auto x = random_numbers(3 * 40 * 16, 3);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i / 16 % 3 < 2) x[i] = 64 * std::round(x[i] * 4);  // whole numbers: scores are exact
  const auto dy = random_numbers(40 * 16, 4);
  const Attended found = attended(*device, shape, x, dy);
  const Plain plain(shape, x, dy);
  CHECK(*std::ranges::max_element(found.sums) > 5000);
  CHECK(worst(found.y, plain.y) < 1e-5);
  for (const float value : found.dx) CHECK(std::isfinite(value));
}

TEST_CASE("attention adds its gradient to what is kept", "[backend]") {
  for (const char* name : {"cpu", "reference", "host gpu"}) {
    const auto device = any_device(name);
    const AttentionShape shape{{2, 70}, 2, 8};
    const auto x = random_numbers(3 * 140 * 16, 5), dy = random_numbers(140 * 16, 6);
    const Attended plain = attended(*device, shape, x, dy, 0, std::numeric_limits<float>::quiet_NaN());
    const Attended kept = attended(*device, shape, x, dy, 0.5f, 3);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(kept.dx[i] == Approx(plain.dx[i] + 1.5f).margin(1e-5));
  }
}

TEST_CASE("a row's attention has the same bits whatever comes after it, and in any minibatch", "[backend]") {
  for (const char* name : {"cpu", "reference", "host gpu"}) {
    const auto device = any_device(name);
    const std::size_t steps = 77, heads = 2, width = 20, outputs = heads * width;
    const AttentionShape three{{3, steps}, heads, width}, one{{1, steps}, heads, width};
    auto x = random_numbers(3 * 3 * steps * outputs, 7), dy = random_numbers(3 * steps * outputs, 8);
    const Attended all = attended(*device, three, x, dy);
    const auto of_sequence = [&](const std::vector<float>& rows, std::size_t row_width) {  // number 1 of 3
      std::vector<float> mine;
      for (std::size_t t = 0; t < steps; ++t)
        mine.insert(mine.end(), rows.begin() + static_cast<std::ptrdiff_t>((3 * t + 1) * row_width),
                    rows.begin() + static_cast<std::ptrdiff_t>((3 * t + 2) * row_width));
      return mine;
    };
    const Attended alone = attended(*device, one, of_sequence(x, 3 * outputs), of_sequence(dy, outputs));
    CHECK(alone.y == of_sequence(all.y, outputs));
    CHECK(alone.dx == of_sequence(all.dx, 3 * outputs));
    const std::size_t changed = 3 * 50;  // rows of the steps from 50 on
    for (std::size_t i = 3 * changed * outputs; i < x.size(); ++i) x[i] = -5 * x[i];
    const Attended later = attended(*device, three, x, dy);
    for (std::size_t i = 3 * changed * outputs; i < x.size(); ++i) x[i] = std::numeric_limits<float>::quiet_NaN();
    const Attended nothing = attended(*device, three, x, dy);
    const auto before = static_cast<std::ptrdiff_t>(changed * outputs);
    CHECK(std::equal(all.y.begin(), all.y.begin() + before, later.y.begin()));
    if (device->name() != "cpu") CHECK(std::equal(all.y.begin(), all.y.begin() + before, nothing.y.begin()));
    CHECK(!std::equal(all.y.begin() + before, all.y.end(), later.y.begin() + before));
  }
}
