#include "backend/kernels/sampling.hpp"

#include <numeric>

#include "backend/kernels/affine.hpp"
#include "backend/random_numbers.hpp"
#include "catch.hpp"
#include "tests/backend/sums.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad;
using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

const core::RandomStream stream(5, core::Purpose::generator, 3);

/// Scattered rows, the largest possible among them.
std::vector<std::uint32_t> some_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(0u - i * 7919);
  return rows;
}

std::vector<float> chances(std::size_t count) {
  auto p = random_numbers(count, 1);
  for (float& value : p) value = 0.5f + 0.5f * value;
  return p;
}

template <class Sample>
std::vector<float> drawn(std::size_t count, const Sample& sample) {
  std::vector<float> y = poisoned(count);
  sample(y);
  return y;
}

double mean_power(const std::vector<float>& y, int power) {
  double sum = 0;
  for (const float v : y) sum += std::pow(static_cast<double>(v), power);
  return sum / static_cast<double>(y.size());
}

}  // namespace

TEST_CASE("cpu draws the reference's bits", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t batch = GENERATE(1u, 3u), units = GENERATE(1u, 15u, 16u, 17u, 63u, 64u, 65u, 500u, 784u);
  CAPTURE(batch, units);
  const auto rows = some_rows(batch);
  const auto p = chances(batch * units);
  const auto states = [&](Device& device) {
    return drawn(p.size(), [&](auto& y) { device.run(SampleBernoulli{stream, rows, units, p, y}); });
  };
  const auto values = [&](Device& device) {
    return drawn(p.size(), [&](auto& y) { device.run(SampleNormal{stream, rows, units, p, y}); });
  };
  CHECK(same_bits(states(*cpu), states(*reference)));
  CHECK(same_bits(values(*cpu), values(*reference)));
}

TEST_CASE("what a unit draws depends on its row, not on the batch around it", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t units = 70;
  const std::vector<std::uint32_t> rows = {9, 4, 7, 4};
  const auto row_p = chances(units);
  std::vector<float> p;
  for (std::size_t i = 0; i < rows.size(); ++i) p.insert(p.end(), row_p.begin(), row_p.end());
  const auto y = drawn(p.size(), [&](auto& to) { device->run(SampleBernoulli{stream, rows, units, p, to}); });
  const auto row = [&](std::size_t i) { return std::vector<float>(y.begin() + i * units, y.begin() + (i + 1) * units); };
  CHECK(row(1) == row(3));
  CHECK(row(0) != row(1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::uint32_t> alone = {rows[i]};
    CHECK(drawn(units, [&](auto& to) { device->run(SampleBernoulli{stream, alone, units, row_p, to}); }) == row(i));
  }
}

TEST_CASE("every unit of a row has random numbers of its own", "[backend]") {
  const auto device = make_device("cpu");
  const std::size_t units = 300;
  const auto rows = some_rows(100);
  const std::vector<float> zero(rows.size() * units);
  auto y = drawn(zero.size(), [&](auto& to) { device->run(SampleNormal{stream, rows, units, zero, to}); });
  std::sort(y.begin(), y.end());
  const auto equal = std::count_if(y.begin() + 1, y.end(), [&](const float& v) { return v == *(&v - 1); });
  CHECK(equal < 200);  // of 23 bits some meet by chance
}

TEST_CASE("states are 1 as often as they should be", "[backend]") {
  const auto device = make_device("cpu");
  const float p = GENERATE(0.f, 0.001f, 0.25f, 0.5f, 0.9f, 1.f);
  const auto rows = some_rows(1000);
  const std::size_t units = 400, count = rows.size() * units;
  const std::vector<float> same(count, p);
  const auto y = drawn(count, [&](auto& to) { device->run(SampleBernoulli{stream, rows, units, same, to}); });
  CHECK(std::all_of(y.begin(), y.end(), [](float v) { return v == 0 || v == 1; }));
  const double deviation = std::sqrt(static_cast<double>(p * (1 - p)) / static_cast<double>(count));
  CHECK(std::abs(mean_power(y, 1) - static_cast<double>(p)) <= 4 * deviation);
}

TEST_CASE("a probability that is not a number draws 0, one beyond the ends draws what is certain", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::vector<float> p = {not_a_number, -1, 2, not_a_number};
  const auto y = drawn(4, [&](auto& to) { device->run(SampleBernoulli{stream, some_rows(2), 2, p, to}); });
  CHECK(y == std::vector<float>{0, 0, 1, 0});
}

TEST_CASE("normal numbers have the moments and the tails of a Gaussian", "[backend]") {
  const auto device = make_device("cpu");
  const auto rows = some_rows(1000);
  const std::vector<float> zero(rows.size() * 1000);
  const auto y = drawn(zero.size(), [&](auto& to) { device->run(SampleNormal{stream, rows, 1000, zero, to}); });
  CHECK(std::abs(mean_power(y, 1)) < 4e-3);  // four deviations each
  CHECK(std::abs(mean_power(y, 2) - 1) < 4 * std::sqrt(2e-6));
  CHECK(std::abs(mean_power(y, 3)) < 4 * std::sqrt(15e-6));
  CHECK(std::abs(mean_power(y, 4) - 3) < 4 * std::sqrt(96e-6));
  for (const double limit : {1., 2., 3.}) {
    const double share = std::erfc(limit / std::sqrt(2.)), n = static_cast<double>(y.size());
    const auto beyond = std::count_if(y.begin(), y.end(), [&](float v) { return std::abs(static_cast<double>(v)) > limit; });
    CHECK(std::abs(static_cast<double>(beyond) / n - share) < 4 * std::sqrt(share / n));
  }
}

TEST_CASE("a normal number is the inverse of the normal distribution at a uniform one", "[backend]") {
  double largest = 0;
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += 1000003) {
    const double z = static_cast<double>(normal<float>(static_cast<std::uint32_t>(word)));
    const double u = (static_cast<double>(word >> 9) + 0.5) * 0x1p-23;
    const double share = 0.5 * std::erfc(-z / std::sqrt(2.));
    largest = std::max(largest, std::abs(share - u) / std::min(u, 1 - u));
  }
  CHECK(largest < 2e-5);
  CHECK(normal<float>(std::uint32_t{0}) == -normal<float>(~std::uint32_t{0}));
  CHECK(std::abs(normal<float>(std::uint32_t{0})) == Approx(5.2935f).epsilon(1e-3));
}

TEST_CASE("the logarithm is exact to 2e-7", "[backend]") {
  double largest = 0;
  for (float x = 1e-37f; x < 1e37f; x *= 1.0001f) {
    const double exact = std::log(static_cast<double>(x));
    largest = std::max(largest, std::abs(static_cast<double>(logarithm(x)) - exact) / std::max(1e-3, std::abs(exact)));
  }
  CHECK(largest < 2e-7);
}

TEST_CASE("sums of distances, products and softplus are the reference's", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t count = GENERATE(0u, 1u, 31u, 32u, 1023u, 1025u, 5000u);
  auto a = random_numbers(count, 1), b = random_numbers(count, 2);
  for (float& value : a) value *= 30;
  CHECK(squared_distance(*cpu, a, b) == Approx(squared_distance(*reference, a, b)).epsilon(1e-12));
  CHECK(dot(*cpu, a, b) == Approx(dot(*reference, a, b)).epsilon(1e-12).margin(1e-9));
  CHECK(softplus_sum(*cpu, a) == Approx(softplus_sum(*reference, a)).epsilon(2e-7));
  const std::vector<float> x = {3, 4, 0}, y = {0, 2, 5};
  CHECK(squared_distance(*cpu, x, y) == 9 + 4 + 25);
  CHECK(dot(*cpu, x, y) == 8);
}

TEST_CASE("softplus keeps its limits", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float infinity = std::numeric_limits<float>::infinity();
  const auto softplus = [&](float x) { return softplus_sum(*device, std::vector<float>{x}); };
  CHECK(softplus(0) == Approx(std::log(2.)));
  CHECK(softplus(-infinity) == 0);
  CHECK(softplus(infinity) == static_cast<double>(infinity));
  CHECK(softplus(1e5f) == 1e5);
  CHECK(softplus(-1e5f) == 0);
  CHECK(std::isnan(softplus(not_a_number)));
}

TEST_CASE("weights used from their other end are the transposed matrix", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  const std::size_t batch = GENERATE(1u, 5u, 100u), in = GENERATE(3u, 64u, 130u), out = GENERATE(2u, 100u);
  const auto y = random_numbers(batch * out, 1), w = random_numbers(in * out, 2), bias = random_numbers(in, 3);
  const auto f = GENERATE(Activation::sigmoid, Activation::identity);
  auto x = poisoned(batch * in), expected = x;
  cpu->run(AffineReverse{batch, in, out, y, w, bias, f, x});
  reference->run(AffineReverse{batch, in, out, y, w, bias, f, expected});
  CHECK(distance(x, expected) < sum_tolerance(out));
  std::vector<float> transposed(w.size()), by_forward = poisoned(batch * in);
  for (std::size_t i = 0; i < in; ++i)
    for (std::size_t j = 0; j < out; ++j) transposed[j * in + i] = w[i * out + j];
  reference->run(AffineForward{batch, out, in, y, transposed, bias, f, by_forward});
  CHECK(distance(expected, by_forward) < sum_tolerance(out));
}

TEST_CASE("sampling refuses arrays of the wrong size", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu", "meta"));
  core::Arena memory = device->allocate(20);
  const auto rows = some_rows(2);
  const auto p = memory.span().first(6), y = memory.span().subspan(10, 6);
  CHECK_THROWS_AS(device->run(SampleBernoulli{stream, rows, 4, p, y}), std::logic_error);
  CHECK_THROWS_AS(device->run(SampleNormal{stream, rows, 3, p, y.first(5)}), std::logic_error);
  CHECK_THROWS_AS(dot(*device, p, y.first(5)), std::logic_error);
  CHECK_THROWS_AS(device->run(AffineReverse{2, 2, 3, p, p, y, Activation::sigmoid, y}), std::logic_error);
}
